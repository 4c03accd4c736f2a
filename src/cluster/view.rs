//! The known state of the cluster, as far as a verdict depends on it. The watches write it, and every review reads
//! it. They block each other only for one look-up or one change.

mod pools;

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use parking_lot::RwLock;
use poolgate_core::facts::{Installed, TargetKarpenter};
use serde_json::Value;
use tokio::sync::watch;

pub use pools::{CachedPool, Pools};

/// The known state of the cluster; empty at first.
#[derive(Debug)]
pub struct ClusterView {
    /// The Karpenter release while no definition is known.
    without_definition: TargetKarpenter,
    karpenter: ArcSwap<TargetKarpenter>,
    definition_set: watch::Sender<()>,
    /// None while the pools are not watched. Read only when a pool is scaled or makes a node, which is rare: a lock is good
    /// enough.
    pools: RwLock<Option<Pools>>,
}

/// The view's state of one pool.
#[derive(Debug, Clone, PartialEq)]
pub enum StaticPool {
    /// The pools are not watched.
    NotWatched,
    /// There is no static pool of that name.
    NotThere,
    /// The pool.
    Known(Value),
}

impl Default for ClusterView {
    fn default() -> Self {
        Self::new(TargetKarpenter::default())
    }
}

impl ClusterView {
    /// A view without a cluster: NodePools are checked for this Karpenter release.
    pub fn new(karpenter: TargetKarpenter) -> Self {
        Self {
            karpenter: ArcSwap::from_pointee(karpenter.clone()),
            definition_set: watch::Sender::new(()),
            without_definition: karpenter,
            pools: RwLock::default(),
        }
    }

    /// The Karpenter release that NodePools are checked for now.
    pub fn karpenter(&self) -> Guard<Arc<TargetKarpenter>> {
        self.karpenter.load()
    }

    /// Sets the cluster's NodePool definition, if it has one.
    pub fn set_definition(&self, installed: Option<Installed>) {
        let karpenter = match installed {
            Some(installed) => self.without_definition.with_definition(Arc::new(installed)),
            None => self.without_definition.clone(),
        };
        self.karpenter.store(Arc::new(karpenter));
        self.definition_set.send_replace(());
    }

    /// Notifies of each definition set from now on.
    pub fn definition_changes(&self) -> watch::Receiver<()> {
        self.definition_set.subscribe()
    }

    /// The known state of a static pool.
    pub fn static_pool(&self, name: &str) -> StaticPool {
        match &*self.pools.read() {
            None => StaticPool::NotWatched,
            Some(pools) => pools
                .get_static(name)
                .map_or(StaticPool::NotThere, |pool| StaticPool::Known(pool.clone())),
        }
    }

    /// The kept part of a pool; none if it is unknown. It may exist all the same.
    pub fn pool(&self, name: &str) -> Option<CachedPool> {
        self.pools.read().as_ref()?.get(name).cloned()
    }

    /// How many pools are known.
    pub fn pool_count(&self) -> usize {
        self.pools.read().as_ref().map_or(0, Pools::len)
    }

    /// Sets the pools; none if they are no longer watched.
    pub fn set_pools(&self, pools: Option<Pools>) {
        *self.pools.write() = pools;
    }

    /// Changes one of the pools that are watched; returns how many static ones there are then.
    pub fn set_pool(&self, name: Box<str>, pool: Option<CachedPool>) -> usize {
        let mut pools = self.pools.write();
        let Some(pools) = pools.as_mut() else { return 0 };
        match pool {
            Some(pool) => pools.insert(name, pool),
            None => pools.remove(&name),
        }
        pools.statics()
    }
}
