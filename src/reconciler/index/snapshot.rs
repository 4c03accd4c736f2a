//! Everything about one pool at one moment, so that a plan can be made while the index keeps changing.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use poolgate_core::karpenter::NodeLimitMode;
use poolgate_core::nodelimit::ledger::Moment;
use poolgate_core::nodelimit::plan::{
    Claim, ClaimState, LedgerState, Needs, Node, ObjectRef, Pod, Pool, PoolState, Settings, Tries,
};

use super::Index;
use crate::reconciler::objects::{ClaimObject, Interned, NodeKinds, NodeObject};

/// A claim, its node, and the pods on the node.
#[derive(Debug, Clone)]
struct WholeClaim {
    claim: Arc<Claim>,
    node: Option<Arc<Node>>,
    pods: Vec<Arc<Pod>>,
    /// When the claim was first seen.
    since: Moment,
    tries: Option<Tries>,
}

/// A pool and what belongs to it.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub pool: Arc<Pool>,
    /// Whether the pool exists.
    pub exists: bool,
    claims: Vec<WholeClaim>,
    pending: Vec<Arc<Needs>>,
    /// What its ledger says.
    pub ledger: LedgerState,
    denied_at: Option<Moment>,
    denied_anywhere_at: Option<Moment>,
    replaces_elsewhere: bool,
    /// Nodes with poolgate's marks that belong to no claim of the pool.
    pub strays: Vec<ObjectRef>,
}

/// The inputs of a plan besides the state of the cluster.
#[derive(Debug, Clone, Copy)]
pub struct PlanInputs {
    pub steady_since: Option<Moment>,
    pub terminations_left: usize,
    pub settings: Settings,
}

impl Index {
    /// What is known of a pool.
    pub fn snapshot(&self, name: &str) -> Snapshot {
        let uids = self.claims_of.get(name).into_iter().flatten();
        let claims = uids.filter_map(|uid| self.claims.get(uid)).map(|known| {
            let machine = known.seen.machine;
            let node = machine.and_then(|machine| self.node_of_machine.get(&machine));
            let pods = node.and_then(|node| self.pods_on.get(node));
            let node = node.and_then(|node| self.nodes.get(node));
            WholeClaim {
                claim: Arc::clone(&known.seen.claim),
                tries: known.tries.as_deref().copied(),
                node: node.map(|seen| Arc::clone(&seen.node)),
                pods: pods.cloned().unwrap_or_default(),
                since: known.since,
            }
        });
        let strays = self.strays(name).map(|seen| ObjectRef::to_node(&seen.node));
        let ledger = self.ledgers.get(name);
        Snapshot {
            pool: self.pool(name),
            exists: self.knows_pool(name),
            claims: claims.collect(),
            pending: self.pending.keys().cloned().collect(),
            ledger: ledger.map(|known| known.ledger.clone()).unwrap_or_default(),
            denied_at: ledger.and_then(|known| known.denied_at),
            denied_anywhere_at: self.denied_at,
            replaces_elsewhere: self.replaces_drifted_outside(name),
            strays: strays.collect(),
        }
    }
}

impl Snapshot {
    /// The same in the form that a plan takes.
    pub fn state(&self, inputs: PlanInputs) -> PoolState<'_> {
        PoolState {
            pool: &self.pool,
            claims: self
                .claims
                .iter()
                .map(|whole| ClaimState {
                    claim: &whole.claim,
                    node: whole.node.as_deref(),
                    tries: whole.tries,
                    pods: whole.pods.iter().map(Arc::as_ref).collect(),
                })
                .collect(),
            pending: self.pending.iter().map(Arc::as_ref).collect(),
            ledger: self.ledger.clone(),
            steady_since: inputs.steady_since,
            denied_at: self.denied_at,
            denied_anywhere_at: self.denied_anywhere_at,
            replaces_elsewhere: self.replaces_elsewhere,
            terminations_left: inputs.terminations_left,
            settings: inputs.settings,
        }
    }

    /// Whether nothing of the pool is left, so that it need not be reconciled again.
    pub fn is_over(&self) -> bool {
        !self.exists && self.claims.is_empty() && self.strays.is_empty()
    }

    /// When the pool last got a node above its Hard limit: while such nodes are added, the gate is not there, and
    /// the excess is not steady.
    pub fn grown_at(&self) -> Moment {
        let hard = self.pool.limit.filter(|limit| limit.mode == NodeLimitMode::Hard);
        let last = self.claims.iter().map(|claim| claim.since).max();
        let is_above = hard.is_some_and(|limit| self.claims.len() > limit.nodes as usize);
        last.filter(|_| is_above).unwrap_or_default()
    }

    /// Applies a list that was just read: claims missing from it are gone, and those it shows as being deleted are
    /// being deleted. False if it has a claim that is not known here yet: then it is too early to decide.
    pub fn agree_with(&mut self, listed: &HashMap<Box<str>, Option<Timestamp>>) -> bool {
        self.claims.retain(|whole| listed.contains_key(&*whole.claim.uid));
        for WholeClaim { claim, .. } in &mut self.claims {
            if let (None, Some(Some(deleted))) = (claim.deleted, listed.get(&*claim.uid)) {
                Arc::make_mut(claim).deleted = Some(*deleted);
            }
        }
        self.claims.len() == listed.len()
    }

    /// Applies what was just read: all claims, and the node of one of them. Returns the version of that claim; `None` if
    /// the claim or its node is not the one that is known here, or there is a claim that is not known yet: then it is
    /// too early to decide.
    pub fn agree_with_whole(
        &mut self,
        claims: Vec<ClaimObject>,
        node: Option<NodeObject>,
        uid: &str,
    ) -> Option<String> {
        let mut version = None;
        let mut listed = HashMap::new();
        let known = self.claims.iter().find(|whole| *whole.claim.uid == *uid)?;
        for claim in claims {
            listed.insert(claim.metadata.uid.clone(), claim.metadata.deleted());
            if *claim.metadata.uid == *uid {
                version.clone_from(&claim.metadata.resource_version);
                let seen = claim.seen(&mut Interned::default())?;
                (seen.claim == known.claim).then_some(())?;
            }
        }
        let node = node?.seen(&mut NodeKinds::default(), &BTreeSet::new())?.node;
        let same = known.node.as_ref().filter(|same| same.uid == node.uid)?;
        let is_same =
            (same.conditions, same.marks, &same.taints) == (node.conditions, node.marks, &node.taints);
        (is_same && self.agree_with(&listed)).then_some(version?.into())
    }
}
