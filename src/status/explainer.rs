//! Explains why nodes stay, from what was read.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use poolgate_core::nodelimit::why::{BlockedNode, Explanation, Seen, explain};
use poolgate_core::policy::Policy;

use super::facts::{Facts, Kept, KnownClaim};
use super::node_events::NodeEvents;
use super::seen_pool::{NodesByName, PoolFacts};

/// All NodePools, and what explains why their nodes stay.
pub struct Explainer<'f> {
    now: Timestamp,
    /// What decides why nodes stay; `None` if it was not read.
    pub kept: Option<&'f Kept>,
    nodes: NodesByName<'f>,
    /// By name.
    pub pools: BTreeMap<&'f str, PoolFacts<'f>>,
    /// Karpenter's events, and those of poolgate that still hold.
    pub events: NodeEvents<'f>,
}

impl<'f> Explainer<'f> {
    pub fn of(facts: &'f Facts, kept: Option<&'f Kept>, policy: Option<&Policy>) -> Self {
        let nodes = NodesByName::of(facts);
        let pools = facts.pools.iter().flatten();
        let pools = pools.map(|object| {
            let pool = PoolFacts::of(object, facts, policy, &nodes);
            (&*object.metadata.name, pool)
        });
        let pools: BTreeMap<&str, PoolFacts<'_>> = pools.collect();
        let is_so = |event: &&Event| {
            let pool = pools.get(event.involved_object.name.as_deref().unwrap_or_default());
            !pool.is_some_and(|pool| pool.contradicts(event))
        };
        let of_pools = facts.events.iter().flatten().filter(is_so);
        let of_nodes = kept.into_iter().flat_map(|kept| kept.events.iter().flatten());
        Self {
            now: facts.now,
            kept,
            events: of_nodes.chain(of_pools).collect(),
            nodes,
            pools,
        }
    }

    /// Whether all PodDisruptionBudgets and pods are known.
    pub fn knows_budgets(&self) -> bool {
        self.kept
            .is_some_and(|kept| kept.pods.is_ok() && kept.budgets.is_ok())
    }

    /// Why a node stays, and why it is blocked, if it is.
    pub fn explain(&self, known: &'f KnownClaim) -> (Explanation, Option<BlockedNode>) {
        let kept = self.kept;
        let node = known.details.node_name.as_deref();
        let pods = kept.and_then(|kept| kept.pods.as_ref().ok()).zip(node);
        let pods = pods.map(|(pods, node)| pods.get(node).map_or(&[][..], Vec::as_slice));
        let budgets = kept.and_then(|kept| kept.budgets.as_ref().ok());
        let seen = Seen {
            now: self.now,
            state: &self.nodes.state(known, pods.unwrap_or_default()),
            details: &known.details,
            ready: self.nodes.of_claim(known).and_then(|node| node.ready.as_ref()),
            pool: self.pools.get(&*known.pool).map(|pool| &pool.known),
            pods,
            budgets,
            is_called_broken: self.events.call_broken(known),
        };
        let explanation = explain(&seen);
        let blocked = explanation.blocked(&seen);
        (explanation, blocked)
    }
}
