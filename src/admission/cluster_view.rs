//! What the cluster says, as far as a verdict rests on it. Whoever watches the cluster writes it, every review
//! reads it, and neither waits for the other.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use arc_swap::{ArcSwap, Guard};
use poolgate_core::karpenter::{Installed, Karpenter};
use serde_json::Value;

/// What is known of the cluster; at first nothing.
#[derive(Debug)]
pub struct ClusterView {
    /// What holds where no definition is known.
    without_definition: Karpenter,
    karpenter: ArcSwap<Karpenter>,
    /// None while nobody watches the pools. Read only where a pool is scaled, which is rare: a lock will do.
    static_pools: RwLock<Option<StaticPools>>,
}

/// NodePools with `spec.replicas`, by name: of each as much of its JSON as a scale request is judged by.
pub(crate) type StaticPools = HashMap<Box<str>, Value>;

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
            static_pools: RwLock::default(),
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

    /// What is known of a pool.
    pub(crate) fn static_pool(&self, name: &str) -> StaticPool {
        match &*self.read_pools() {
            None => StaticPool::NotWatched,
            Some(pools) => pools
                .get(name)
                .map_or(StaticPool::NotThere, |pool| StaticPool::Known(pool.clone())),
        }
    }

    /// Whether there is a static pool of that name.
    pub(crate) fn knows_static_pool(&self, name: &str) -> bool {
        self.read_pools()
            .as_ref()
            .is_some_and(|pools| pools.contains_key(name))
    }

    /// How many static pools there are.
    pub(crate) fn static_pool_count(&self) -> usize {
        self.read_pools().as_ref().map_or(0, HashMap::len)
    }

    /// From now on these are the static pools; none where nobody watches them any more.
    pub(crate) fn set_static_pools(&self, pools: Option<StaticPools>) {
        *self.write_pools() = pools;
    }

    /// Changes one of the static pools that are watched; says how many there are then.
    pub(crate) fn set_static_pool(&self, name: Box<str>, pool: Option<Value>) -> usize {
        let mut pools = self.write_pools();
        let Some(pools) = pools.as_mut() else { return 0 };
        match pool {
            Some(pool) => pools.insert(name, pool),
            None => pools.remove(&name),
        };
        pools.len()
    }

    // Each change of the map is whole before anything can panic: a poisoned lock holds nothing half-done.
    fn read_pools(&self) -> RwLockReadGuard<'_, Option<StaticPools>> {
        self.static_pools.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_pools(&self) -> RwLockWriteGuard<'_, Option<StaticPools>> {
        self.static_pools.write().unwrap_or_else(PoisonError::into_inner)
    }
}
