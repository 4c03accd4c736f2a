//! Everything about one pool at one moment, so that a plan can be made while the index keeps changing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use poolgate_core::api::NodeLimitMode;
use poolgate_core::nodelimit::ledger::Moment;
use poolgate_core::nodelimit::plan::{
    Claim, ClaimState, LedgerState, Node, ObjectRef, Pod, PodOnNode, Pool, PoolState, Settings, Tries,
};
use poolgate_core::pods::Needs;

use super::Index;
use crate::cluster::ledgers::Owner;
use crate::cluster::objects::{
    ClaimObject, Interned, NodeKinds, NodeObject, PodKinds, PodLocation, PodObject,
};

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
    /// The content of its ledger.
    pub ledger: LedgerState,
    /// When the watch last showed another ledger. A plan that is made only occasionally may miss a closed ledger.
    pub ledger_identified_at: Option<Moment>,
    denied_at: Option<Moment>,
    denied_anywhere_at: Option<Moment>,
    replaces_elsewhere: bool,
    /// Nodes with poolgate's marks that belong to no claim of the pool.
    pub strays: Vec<ObjectRef>,
}

/// A claim, its node and the pods on the node, as they are stored.
pub struct ReadClaim {
    pub claim: ClaimObject,
    pub node: Option<NodeObject>,
    pub pods: Vec<PodObject>,
}

/// The findings of [`Snapshot::apply`].
#[derive(Debug, PartialEq, Eq)]
pub struct Applied {
    /// The resourceVersion of the claim.
    pub version: String,
    /// Whether claim and node are as they were known, as far as the tries to disrupt the node depend on it.
    pub is_unchanged: bool,
}

impl Index {
    /// The known state of a pool.
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
        let pool = self.pool(name);
        let ledger = self.ledgers.get(&*pool.uid);
        Snapshot {
            pool,
            exists: self.knows_pool(name),
            claims: claims.collect(),
            pending: self.pending.keys().cloned().collect(),
            ledger: ledger.map(|known| known.ledger.clone()).unwrap_or_default(),
            ledger_identified_at: ledger.and_then(|known| known.identified_at),
            denied_at: ledger.and_then(|known| known.denied_at),
            denied_anywhere_at: self.denied_at,
            replaces_elsewhere: self.replaces_drifted_outside(name),
            strays: strays.collect(),
        }
    }
}

impl Snapshot {
    /// The pool, as the owner of its ledger.
    pub fn owner(&self) -> Owner<'_> {
        Owner {
            name: &self.pool.name,
            uid: &self.pool.uid,
        }
    }

    /// The same in the form that a plan takes, which terminates nothing.
    pub fn state(&self) -> PoolState<'_> {
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
            steady_since: None,
            denied_at: self.denied_at,
            denied_anywhere_at: self.denied_anywhere_at,
            replaces_elsewhere: self.replaces_elsewhere,
            terminations_left: 0,
            settings: Settings::default(),
        }
    }

    /// The pods on the node of the claim at this place of [`PoolState::claims`], without names.
    pub fn pods_of(&self, place: usize) -> Vec<PodOnNode> {
        let pods = self.claims.get(place).map(|whole| &whole.pods);
        let unnamed = |pod: &Arc<Pod>| PodOnNode {
            name: Box::default(),
            pod: Arc::clone(pod),
        };
        pods.into_iter().flatten().map(unnamed).collect()
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
    pub fn agree_with(&mut self, listed: &BTreeMap<Box<str>, Option<Timestamp>>) -> bool {
        self.claims.retain(|whole| listed.contains_key(&*whole.claim.uid));
        for WholeClaim { claim, .. } in &mut self.claims {
            if let (None, Some(Some(deleted))) = (claim.deleted, listed.get(&*claim.uid)) {
                Arc::make_mut(claim).deleted = Some(*deleted);
            }
        }
        self.claims.len() == listed.len()
    }

    /// The name of the node of a claim, if it has one.
    pub fn node_of(&self, uid: &str) -> Option<Arc<str>> {
        let known = self.claims.iter().find(|whole| *whole.claim.uid == *uid)?;
        known.node.as_ref().map(|node| Arc::clone(&node.name))
    }

    /// Applies what was just read of one claim. `None` if it is gone or moved, or its node is not the one that is known
    /// here: then it is too early to decide.
    pub fn apply(&mut self, uid: &str, read: ReadClaim) -> Option<Applied> {
        let known = self.claims.iter_mut().find(|whole| *whole.claim.uid == *uid)?;
        let version = read.claim.metadata.resource_version.clone()?.into();
        let seen = read.claim.seen(&mut Interned::default())?;
        let is_same = seen.claim.uid == known.claim.uid && *seen.pool == *self.pool.name;
        (is_same && seen.claim.is_launched == known.claim.is_launched).then_some(())?;
        let mut is_unchanged = seen.claim == known.claim;
        known.claim = seen.claim;
        if let Some(before) = &mut known.node {
            let node = read.node?.seen(&mut NodeKinds::default(), &BTreeSet::new())?.node;
            (node.uid == before.uid).then_some(())?;
            is_unchanged &= (before.conditions, before.marks, &before.taints)
                == (node.conditions, node.marks, &node.taints);
            let labels = Arc::clone(&before.labels);
            *before = Arc::new(Node {
                labels,
                ..Arc::unwrap_or_clone(node)
            });
            let mut kinds = PodKinds::default();
            let pods = read.pods.into_iter().filter_map(|pod| pod.location(&mut kinds));
            known.pods = pods
                .filter_map(|location| match location {
                    PodLocation::Bound(_, pod) => Some(pod),
                    PodLocation::Unschedulable(_) => None,
                })
                .collect();
        }
        Some(Applied {
            version,
            is_unchanged,
        })
    }
}
