//! What is remembered of a pool from one plan to the next: nothing that must survive a restart.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::claim::ClaimState;
use super::recent_limits::RecentLimits;
use super::replacement_memory::ReplacementMemory;
use super::state::LedgerIdentity;
use crate::api::NodeLimit;
use crate::nodelimit::ledger::Moment;

/// How long something must be over before it is reported again when it comes back.
const OVER: Duration = Duration::from_mins(10);

/// What is remembered from one plan of a pool to the next. Begin with [`Memory::default`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// When each claim was last given an open place, by UID.
    pub(crate) turns: BTreeMap<Arc<str>, Moment>,
    /// When each node that Karpenter is disrupting was first seen so, by the UID of its claim: the condition that
    /// says since when follows the taint, and Karpenter 1.0 sets none.
    pub(crate) disruptions: BTreeMap<Arc<str>, Moment>,
    /// Since when there have been enough places to hold no node.
    pub(crate) roomy_since: Option<Moment>,
    /// Since when a pod that the pool could serve has been pending although there is a free place and no node is
    /// being created.
    pub(crate) unserved_since: Option<Moment>,
    /// The limits of the last settle time.
    pub(crate) limits: RecentLimits,
    /// The present limit, and since when it has been the same.
    pub(crate) limit_since: Option<(Option<NodeLimit>, Moment)>,
    /// The present ledger, and since when it has been the same.
    pub(crate) ledger_since: Option<(Option<LedgerIdentity>, Moment)>,
    /// Nodes that stay closed for some time after a denial, by the UID of the claim, and when they were last denied.
    pub(crate) denied: BTreeMap<Arc<str>, Moment>,
    /// Nodes that are replaced at the limit.
    pub(crate) replacements: ReplacementMemory,
    /// The events that were reported, by topic.
    pub(crate) reported: BTreeMap<Topic, LastEvent>,
}

/// The subject of an event. Each topic of a pool is reported again only when something has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// Drifted nodes may not be disrupted.
    BlockedDrifted,
    /// No node may be consolidated.
    BlockedUnderutilized,
    /// Pods wait for nodes that the pool may not have.
    Reached,
    /// The pool has more nodes than it may.
    Exceeded,
    /// A node is terminated first and then replaced.
    ReplacementStarted,
    /// Nodes wait for their replacement.
    ReplacementBlocked,
    /// A drifted node cannot be drained without harm.
    ReplacementRefused,
    /// A node need not be replaced after all.
    ReplacementDropped,
    /// A node was not replaced.
    ReplacementStopped,
}

/// What was last reported on a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastEvent {
    /// Identifies what was reported: the same text is not reported again.
    pub(crate) what: String,
    /// Since when it is no longer true; `None` while it is.
    pub(crate) over_since: Option<Moment>,
}

impl Memory {
    /// Forgets whose turn it was and whether there was room.
    pub(crate) fn forget_room(&mut self) {
        self.turns.clear();
        self.roomy_since = None;
        self.unserved_since = None;
    }

    /// Records which nodes Karpenter is disrupting.
    pub(crate) fn see_disruptions(&mut self, claims: &[&ClaimState<'_>], now: Moment) {
        let disrupted = claims.iter().filter(|claim| claim.is_being_disrupted());
        let seen = disrupted.map(|claim| {
            let uid = &claim.claim.uid;
            (Arc::clone(uid), self.disruptions.get(uid).copied().unwrap_or(now))
        });
        self.disruptions = seen.collect();
    }

    /// Records that the node of a claim, by its UID, cannot be drained without harm, and why: another one is chosen.
    pub fn refuse(&mut self, uid: &Arc<str>, why: String, now: Moment) {
        self.replacements.refuse(uid, why, now);
    }

    /// Records the limit. Returns since when it has been the same.
    pub(crate) fn see_limit(&mut self, limit: Option<NodeLimit>, now: Moment) -> Moment {
        let same = self.limit_since.filter(|(before, _)| *before == limit);
        let (_, since) = *self.limit_since.insert(same.unwrap_or((limit, now)));
        since
    }

    /// Records which ledger there is. Returns since when it has been the same.
    pub(crate) fn see_ledger(&mut self, ledger: Option<&LedgerIdentity>, now: Moment) -> Moment {
        if let Some((before, since)) = &self.ledger_since
            && before.as_ref() == ledger
        {
            return *since;
        }
        self.ledger_since = Some((ledger.cloned(), now));
        now
    }

    /// Whether a topic is to be reported now; records it. `what` identifies what is reported; `None` while there is
    /// nothing to report.
    pub(crate) fn is_news(&mut self, topic: Topic, what: Option<String>, now: Moment) -> bool {
        let Some(what) = what else {
            if let Some(reported) = self.reported.get_mut(&topic) {
                reported.over_since.get_or_insert(now);
            }
            return false;
        };
        let is_old = self.reported.get(&topic).is_some_and(|before| {
            let is_over = before.over_since.is_some_and(|since| now.since(since) >= OVER);
            before.what == what && !is_over
        });
        let over_since = None;
        self.reported.insert(topic, LastEvent { what, over_since });
        !is_old
    }
}
