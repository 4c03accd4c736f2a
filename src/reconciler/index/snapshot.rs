//! All that belongs to one pool at one moment, so that it can be judged while the index goes on changing.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use poolgate_core::karpenter::NodeLimitMode;
use poolgate_core::nodelimit::ledger::Moment;
use poolgate_core::nodelimit::plan::{
    Claim, ClaimState, LedgerState, Needs, Node, NodeRef, Pod, Pool, PoolState, Settings,
};

use super::Index;

/// A claim, its node, and the pods on that.
#[derive(Debug, Clone)]
struct WholeClaim {
    claim: Arc<Claim>,
    node: Option<Arc<Node>>,
    pods: Vec<Arc<Pod>>,
    /// When the claim was first seen.
    since: Moment,
}

/// A pool and what belongs to it.
#[derive(Debug, Clone)]
pub(in crate::reconciler) struct Snapshot {
    pub(in crate::reconciler) pool: Arc<Pool>,
    /// Whether the pool is there.
    pub(in crate::reconciler) exists: bool,
    claims: Vec<WholeClaim>,
    pending: Vec<Arc<Needs>>,
    /// What its ledger says.
    pub(in crate::reconciler) ledger: LedgerState,
    denied_at: Option<Moment>,
    /// Nodes with marks of poolgate's that no claim of the pool is behind.
    pub(in crate::reconciler) strays: Vec<NodeRef>,
}

/// What a plan gets beside what is seen.
#[derive(Debug, Clone, Copy)]
pub(in crate::reconciler) struct PlanInputs {
    pub(in crate::reconciler) steady_since: Option<Moment>,
    pub(in crate::reconciler) terminations_left: usize,
    pub(in crate::reconciler) settings: Settings,
}

impl Index {
    /// What is known of a pool.
    pub(in crate::reconciler) fn snapshot(&self, name: &str) -> Snapshot {
        let uids = self.claims_of.get(name).into_iter().flatten();
        let claims = uids.filter_map(|uid| self.claims.get(uid)).map(|known| {
            let machine = known.seen.machine;
            let node = machine.and_then(|machine| self.node_of_machine.get(&machine));
            let pods = node.and_then(|node| self.pods_on.get(node));
            let node = node.and_then(|node| self.nodes.get(node));
            WholeClaim {
                claim: Arc::clone(&known.seen.claim),
                node: node.map(|seen| Arc::clone(&seen.node)),
                pods: pods.cloned().unwrap_or_default(),
                since: known.since,
            }
        });
        let strays = self.strays(name).map(|seen| NodeRef {
            name: Arc::clone(&seen.node.name),
            uid: Arc::clone(&seen.node.uid),
        });
        let ledger = self.ledgers.get(name);
        Snapshot {
            pool: self.pool(name),
            exists: self.knows_pool(name),
            claims: claims.collect(),
            pending: self.pending.keys().cloned().collect(),
            ledger: ledger.map(|known| known.ledger.clone()).unwrap_or_default(),
            denied_at: ledger.and_then(|known| known.denied_at),
            strays: strays.collect(),
        }
    }
}

impl Snapshot {
    /// The same as a plan takes it.
    pub(in crate::reconciler) fn state(&self, inputs: PlanInputs) -> PoolState<'_> {
        PoolState {
            pool: &self.pool,
            claims: self
                .claims
                .iter()
                .map(|whole| ClaimState {
                    claim: &whole.claim,
                    node: whole.node.as_deref(),
                    pods: whole.pods.iter().map(Arc::as_ref).collect(),
                })
                .collect(),
            pending: self.pending.iter().map(Arc::as_ref).collect(),
            ledger: self.ledger.clone(),
            steady_since: inputs.steady_since,
            denied_at: self.denied_at,
            terminations_left: inputs.terminations_left,
            settings: inputs.settings,
        }
    }

    /// Whether nothing of the pool is left, so that it need not be looked at again.
    pub(in crate::reconciler) fn is_over(&self) -> bool {
        !self.exists && self.claims.is_empty() && self.strays.is_empty()
    }

    /// When the pool was last given a node that it was not to have: while nodes come in over a Hard limit, the gate
    /// is not there, and what is above the limit is no steady sight.
    pub(in crate::reconciler) fn grown_at(&self) -> Moment {
        let hard = self.pool.limit.filter(|limit| limit.mode == NodeLimitMode::Hard);
        let last = self.claims.iter().map(|claim| claim.since).max();
        let is_above = hard.is_some_and(|limit| self.claims.len() > limit.nodes as usize);
        last.filter(|_| is_above).unwrap_or_default()
    }

    /// Takes over what a list says that was just read: claims that it lacks are gone, and what is on its way out by
    /// its word is so. False if it shows a claim that is not known yet: then it is too early to judge.
    pub(in crate::reconciler) fn agree_with(
        &mut self,
        listed: &HashMap<Box<str>, Option<Timestamp>>,
    ) -> bool {
        self.claims.retain(|whole| listed.contains_key(&*whole.claim.uid));
        for WholeClaim { claim, .. } in &mut self.claims {
            if let (None, Some(Some(deleted))) = (claim.deleted, listed.get(&*claim.uid)) {
                Arc::make_mut(claim).deleted = Some(*deleted);
            }
        }
        self.claims.len() == listed.len()
    }
}
