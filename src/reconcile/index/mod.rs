//! The known state of the cluster: pools, their claims, the claims' nodes, and the pods on them, each found from
//! the one before; and which pools have changed since the last call of [`Index::take_changed`]. Does not depend on
//! watches or on what is done about a pool.
//!
//! Memory is bounded: there is a maximum number of objects of each kind. If there are more, the index says that it
//! is not whole, and nothing may be terminated because of it.

mod claims;
mod ledgers;
mod nodes;
mod pods;
mod pools;
mod snapshot;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use poolgate_core::nodelimit::ledger::Moment;
use poolgate_core::nodelimit::plan::{LedgerState, Pod, Pool, Tries};
use poolgate_core::pods::Needs;
use poolgate_core::policy::Policy;
use serde_json::Value;

use crate::cluster::objects::{Interned, Key, NodeKinds, PodKinds, PodLocation, SeenClaim, SeenNode};

pub use snapshot::{Applied, ReadClaim, Snapshot};

/// The most objects of each kind that are kept.
#[derive(Debug, Clone, Copy, Default)]
pub struct IndexBounds {
    pub pools: usize,
    pub claims: usize,
    pub nodes: usize,
    pub pods: usize,
}

/// Several times what Kubernetes is tested for (5,000 nodes, 150,000 pods).
pub const BOUNDS: IndexBounds = IndexBounds {
    pools: 10_000,
    claims: 250_000,
    nodes: 250_000,
    pods: 1_000_000,
};

/// How many different labels pods may select nodes by. Any further label counts as one that no node has.
const MOST_SELECTED: usize = 256;

/// A map of all objects of a kind. One with an order takes a tenth more memory of the whole process. Its hashes are the same
/// in each run, so that a simulation repeats it: the keys are UIDs, names of nodes, and digests.
#[expect(
    clippy::disallowed_types,
    reason = "it has an order of its own, the same in each run"
)]
type Map<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// The known state of the cluster.
#[derive(Debug, Default)]
pub struct Index {
    bounds: IndexBounds,
    policy: Arc<Policy>,
    /// The UID and generation of the definition of NodePools.
    definition: Option<(Box<str>, Option<i64>)>,
    /// When it last changed.
    defined_at: Option<Moment>,
    /// The pools, by name.
    pools: BTreeMap<Arc<str>, KnownPool>,
    /// The claims, by UID.
    claims: Map<Arc<str>, KnownClaim>,
    /// The names of their pools.
    claim_pools: Interned<str>,
    /// The UIDs of a pool's claims, by the pool's name.
    claims_of: Map<Arc<str>, BTreeSet<Arc<str>>>,
    /// The pools of claims, by machine.
    pool_of_machine: Map<Key, Arc<str>>,
    /// The nodes, by name.
    nodes: Map<Arc<str>, SeenNode>,
    /// The values that they share.
    node_kinds: NodeKinds,
    /// The labels that are kept of them.
    kept_labels: BTreeSet<Box<str>>,
    /// The names of nodes, by machine.
    node_of_machine: Map<Key, Arc<str>>,
    /// The names of nodes with poolgate's marks, by pool.
    marked: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
    /// Where each pod is, by UID.
    placements: Map<Key, PodLocation>,
    /// The values that pods share.
    pod_kinds: PodKinds,
    /// The pods on each node, by its name.
    pods_on: Map<Arc<str>, Vec<Arc<Pod>>>,
    /// The needs of pods without a node, and how many pods have each.
    pending: BTreeMap<Arc<Needs>, usize>,
    /// The labels by which pods select nodes.
    selected: BTreeSet<Box<str>>,
    /// The ledgers, by the UIDs of their pools.
    ledgers: BTreeMap<Box<str>, KnownLedger>,
    /// The UIDs of the pools of readable ledgers, by the names of the objects.
    owner_of_ledger: BTreeMap<Box<str>, Box<str>>,
    /// The error that was logged for each unreadable ledger, by the name of the object.
    unreadable_ledgers: BTreeMap<Box<str>, String>,
    /// When the number of denials of any pool was last seen to change.
    denied_at: Option<Moment>,
    /// Pools that have changed since [`Index::take_changed`].
    changed: BTreeSet<Arc<str>>,
    /// The kinds with more objects than are kept.
    left_out: BTreeSet<&'static str>,
}

#[derive(Debug)]
struct KnownPool {
    /// The object, read again under each new policy. As text it takes a tenth of the memory.
    object: Box<str>,
    pool: Arc<Pool>,
}

impl KnownPool {
    fn object(&self) -> Value {
        // We wrote this text ourselves.
        serde_json::from_str(&self.object).unwrap_or_default()
    }
}

#[derive(Debug)]
struct KnownClaim {
    seen: SeenClaim,
    /// When it was first seen.
    since: Moment,
    /// Karpenter's tries to disrupt it.
    tries: Option<Box<Tries>>,
}

#[derive(Debug)]
struct KnownLedger {
    /// The name of its pool.
    pool: Arc<str>,
    ledger: LedgerState,
    /// When another one was last seen to take its place; `None` if that was before the watch.
    identified_at: Option<Moment>,
    /// When the number of denials was last seen to change.
    denied_at: Option<Moment>,
}

impl Index {
    /// An empty index.
    pub fn new(policy: Arc<Policy>, bounds: IndexBounds) -> Self {
        Self {
            bounds,
            policy,
            ..Self::default()
        }
    }

    /// The pools that have changed since the last call.
    pub fn take_changed(&mut self) -> BTreeSet<Arc<str>> {
        std::mem::take(&mut self.changed)
    }

    /// Whether any has.
    pub fn has_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// All pools, and those that are gone and have nodes with marks.
    pub fn all_pools(&self) -> BTreeSet<Arc<str>> {
        self.pools.keys().chain(self.marked.keys()).cloned().collect()
    }

    /// Whether everything that was seen is kept.
    pub fn is_whole(&self) -> bool {
        self.left_out.is_empty()
    }

    /// How many nodes have poolgate's marks.
    pub fn marked_nodes(&self) -> usize {
        self.marked.values().map(BTreeSet::len).sum()
    }

    /// Marks this pool as changed, if the reconciler manages its nodes. For other pools it only shows the claims.
    fn note(&mut self, pool: &Arc<str>) {
        if self.is_managed(pool) || self.marked.contains_key(pool) {
            self.changed.insert(Arc::clone(pool));
        }
    }

    fn note_all(&mut self) {
        for pool in self.all_pools() {
            self.note(&pool);
        }
    }

    /// Whether one more object of this kind may be kept.
    fn has_room(&mut self, kind: &'static str, count: usize, bound: usize) -> bool {
        if count < bound {
            return true;
        }
        if self.left_out.insert(kind) {
            tracing::warn!(
                kind,
                bound,
                "object cache limit reached, terminations are disabled"
            );
        }
        false
    }
}
