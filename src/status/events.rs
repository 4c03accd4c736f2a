//! poolgate's events on a NodePool. The API server keeps them for an hour, so each is compared with what the pool is now.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Event;
use poolgate_core::nodelimit::plan::{EventReason, above_limit, of_limit};

use super::age::age;
use super::seen_pool::PoolFacts;

/// The component whose events are reported.
const COMPONENT: &str = "poolgate";

impl PoolFacts<'_> {
    /// The latest event for each reason, unless what is known contradicts it.
    pub fn events(&self) -> Vec<String> {
        let events = self.facts.events.iter().flatten();
        let own = events.filter(|event| self.is_about_it(event) && is_poolgates(event));
        let mut events: Vec<_> = own
            .map(|event| (event.last_timestamp.as_ref().map(|at| at.0), event))
            .collect();
        events.sort_by_key(|(at, _)| Reverse(*at));
        let mut seen = BTreeSet::new();
        events
            .into_iter()
            .filter(|(_, event)| seen.insert(&event.reason) && !self.contradicts(event))
            .map(|(at, event)| {
                let ago = at.map(|at| format!(" {} ago", age(at, self.facts.now)));
                let ago = ago.unwrap_or_default();
                let (reason, message) = (event.reason.as_deref(), event.message.as_deref());
                let (reason, message) = (reason.unwrap_or_default(), message.unwrap_or_default());
                format!("{reason}{ago}: {message}")
            })
            .collect()
    }

    fn is_about_it(&self, event: &Event) -> bool {
        event.involved_object.uid.as_deref() == Some(&*self.known.pool.uid)
    }

    /// Whether what poolgate said in an event on the pool is not so any more. What could not be read contradicts nothing.
    pub fn contradicts(&self, event: &Event) -> bool {
        let message = event.message.as_deref().unwrap_or_default();
        let is = |reason: EventReason| event.reason.as_deref() == Some(reason.as_str());
        if !is_poolgates(event) {
            return false;
        }
        if is(EventReason::NodeLimitExceeded) {
            self.is_above_otherwise(message)
        } else if is(EventReason::NodeLimitReached) {
            self.known.pool.limit.is_none_or(|limit| {
                let is_another = !message.contains(&of_limit(limit.nodes, limit.mode));
                is_another || self.known.free() > Some(0)
            })
        } else if is(EventReason::DisruptionBlocked) {
            self.held() == Some(0) || !self.known.pool.is_hard() || self.known.free() > Some(0)
        } else if is(EventReason::ReplacementStarted) {
            let ledger = self.known.ledger.as_ref();
            ledger.is_some_and(|ledger| ledger.replacement.is_none())
        } else if is(EventReason::ReplacementStopped) {
            let ledger = self.known.ledger.as_ref();
            ledger.is_some_and(|ledger| ledger.stopped.is_none())
        } else if is(EventReason::ReplacementBlocked) {
            !self.has_to_replace()
        } else if is(EventReason::ReplacementDropped) {
            self.is_gone_or_well(message)
        } else {
            false
        }
    }

    /// Whether another number of nodes is above the limit, or it is another limit.
    fn is_above_otherwise(&self, message: &str) -> bool {
        let Some(limit) = self.known.pool.limit else {
            return true;
        };
        let said = message.split_once(';').map_or(message, |(said, _)| said);
        let excess = self.known.excess();
        excess.is_some_and(|excess| excess == 0 || said != above_limit(excess, limit.nodes))
    }

    /// Whether a node of the pool has drifted or is to be repaired, as far as is known.
    fn has_to_replace(&self) -> bool {
        if self.known.claims.is_none() || self.facts.nodes.is_err() {
            return true;
        }
        let mut staying = self.claims().filter(|claim| claim.deleted.is_none());
        staying.any(|claim| {
            let conditions = claim.conditions;
            let is_held = claim.node.is_some_and(|node| node.marks.held_for().repair);
            conditions.drifted || conditions.disruption.is_some() || is_held
        })
    }

    /// Whether the node that an event says will stay is gone or ready.
    fn is_gone_or_well(&self, message: &str) -> bool {
        let name = message
            .strip_prefix("node ")
            .and_then(|rest| rest.split(' ').next());
        self.nodes().zip(name).is_some_and(|(mut nodes, name)| {
            nodes
                .find(|node| &*node.name == name)
                .is_none_or(|node| node.is_ready)
        })
    }
}

fn is_poolgates(event: &Event) -> bool {
    event.reporting_component.as_deref() == Some(COMPONENT)
}
