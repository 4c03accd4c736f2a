//! What the cluster says, as far as a verdict rests on it. Whoever watches the cluster writes it, every review
//! reads it, and neither waits for the other.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use arc_swap::{ArcSwap, Guard};
use poolgate_core::karpenter::{Installed, Karpenter};
use serde_json::Value;

use super::pools::{KeptPool, Pools};

/// What is known of the cluster; at first nothing.
#[derive(Debug)]
pub struct ClusterView {
    /// What holds where no definition is known.
    without_definition: Karpenter,
    karpenter: ArcSwap<Karpenter>,
    /// None while nobody watches the pools. Read only where a pool is scaled or makes a node, which is rare: a lock
    /// will do.
    pools: RwLock<Option<Pools>>,
}

/// What the view knows of one pool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StaticPool {
    /// Nobody watches the pools.
    NotWatched,
    /// There is no static pool of that name.
    NotThere,
    /// This is it.
    Known(Value),
}

impl Default for ClusterView {
    fn default() -> Self {
        Self::new(Karpenter::default())
    }
}

impl ClusterView {
    /// A view that knows no cluster: this Karpenter is what NodePools are judged for.
    pub fn new(karpenter: Karpenter) -> Self {
        Self {
            karpenter: ArcSwap::from_pointee(karpenter.clone()),
            without_definition: karpenter,
            pools: RwLock::default(),
        }
    }

    /// The Karpenter that NodePools are judged for now.
    pub fn karpenter(&self) -> Guard<Arc<Karpenter>> {
        self.karpenter.load()
    }

    /// From now on this is the cluster's definition of NodePools; none where it has none.
    pub(crate) fn set_definition(&self, installed: Option<Installed>) {
        let karpenter = match installed {
            Some(installed) => self.without_definition.on(Arc::new(installed)),
            None => self.without_definition.clone(),
        };
        self.karpenter.store(Arc::new(karpenter));
    }

    /// What is known of a static pool.
    pub(crate) fn static_pool(&self, name: &str) -> StaticPool {
        match &*self.read_pools() {
            None => StaticPool::NotWatched,
            Some(pools) => pools
                .get_static(name)
                .map_or(StaticPool::NotThere, |pool| StaticPool::Known(pool.clone())),
        }
    }

    /// What is kept of a pool; none where it is not known, which does not mean that it is not there.
    pub(crate) fn pool(&self, name: &str) -> Option<KeptPool> {
        self.read_pools().as_ref()?.get(name).cloned()
    }

    /// Whether a pool is known to have no limit of its nodes.
    pub(crate) fn is_unlimited(&self, name: &str) -> bool {
        self.read_pools()
            .as_ref()
            .and_then(|pools| pools.get(name))
            .is_some_and(|pool| !pool.has_node_limit())
    }

    /// How many pools are known.
    pub(crate) fn pool_count(&self) -> usize {
        self.read_pools().as_ref().map_or(0, Pools::len)
    }

    /// From now on these are the pools; none where nobody watches them any more.
    pub(crate) fn set_pools(&self, pools: Option<Pools>) {
        *self.write_pools() = pools;
    }

    /// Changes one of the pools that are watched; says how many static ones there are then.
    pub(crate) fn set_pool(&self, name: Box<str>, pool: Option<KeptPool>) -> usize {
        let mut pools = self.write_pools();
        let Some(pools) = pools.as_mut() else { return 0 };
        match pool {
            Some(pool) => pools.insert(name, pool),
            None => pools.remove(&name),
        }
        pools.statics()
    }

    // Each change of the map is whole before anything can panic: a poisoned lock holds nothing half-done.
    fn read_pools(&self) -> RwLockReadGuard<'_, Option<Pools>> {
        self.pools.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_pools(&self) -> RwLockWriteGuard<'_, Option<Pools>> {
        self.pools.write().unwrap_or_else(PoisonError::into_inner)
    }
}
