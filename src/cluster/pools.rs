//! The static pools of the cluster: what `kubectl scale` is judged by, because a scale request says nothing
//! about the pool but its name.

use std::sync::Arc;

use kube::Client;
use kube::api::{NotUsed, Object};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::collection::Collection;
use super::metrics::ClusterMetrics;
use super::watch::Follower;
use crate::admission::{ClusterView, StaticPools};

/// How many static pools are kept. Hundreds would be many; of more, the first to come are judged.
const MOST_POOLS: usize = 10_000;

/// Of a NodePool's spec, what a scale request is judged by; of any type, so that no pool stops the watch.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct PoolSpec {
    #[serde(default)]
    replicas: Option<Value>,
    #[serde(default)]
    limits: Option<Value>,
}

/// A NodePool as far as it is looked at.
pub(super) type Pool = Object<PoolSpec, NotUsed>;

/// The NodePools of a cluster. Static ones exist only in v1.
pub(super) fn collection(client: Client) -> Collection<Pool> {
    Collection::new(client, "/apis/karpenter.sh/v1/nodepools")
}

/// Keeps the view's static pools.
pub(super) struct PoolFollower {
    pub(super) view: Arc<ClusterView>,
    pub(super) metrics: ClusterMetrics,
    pub(super) listing: StaticPools,
    /// Whether it was said that there are too many.
    pub(super) told: bool,
}

impl Follower for PoolFollower {
    type Object = Pool;

    fn list_begins(&mut self) {
        self.listing = StaticPools::new();
    }

    fn listed(&mut self, pool: Pool) {
        if self.has_room(self.listing.len())
            && let Some((name, pool)) = kept(pool)
        {
            self.listing.insert(name, pool);
        }
    }

    fn list_ends(&mut self) {
        let listing = std::mem::take(&mut self.listing);
        self.metrics.static_pools(listing.len());
        self.view.set_static_pools(Some(listing));
    }

    fn changed(&mut self, pool: Pool) {
        let Some(name) = pool.metadata.name.as_deref().map(Box::from) else {
            return;
        };
        let kept = kept(pool).map(|(_, pool)| pool);
        let count = self.view.static_pool_count();
        if kept.is_none() || self.view.knows_static_pool(&name) || self.has_room(count) {
            self.metrics.static_pools(self.view.set_static_pool(name, kept));
        }
    }

    fn gone(&mut self, pool: &Pool) {
        if let Some(name) = &pool.metadata.name {
            let count = self.view.set_static_pool(name.as_str().into(), None);
            self.metrics.static_pools(count);
        }
    }

    /// Nobody is refused for a limit that may have been raised since.
    fn lost(&mut self) {
        self.metrics.static_pools(0);
        self.view.set_static_pools(None);
    }
}

impl PoolFollower {
    fn has_room(&mut self, count: usize) -> bool {
        let room = count < MOST_POOLS;
        if !room && !self.told {
            self.told = true;
            tracing::warn!(
                limit = MOST_POOLS,
                "too many static pools; scaling of the others is not judged"
            );
        }
        room
    }
}

/// The name of a static pool and what is kept of it; none for a dynamic pool, which cannot be scaled.
fn kept(pool: Pool) -> Option<(Box<str>, Value)> {
    let replicas = pool.spec.replicas.filter(|replicas| !replicas.is_null())?;
    let nodes = pool.spec.limits.as_ref().and_then(|limits| limits.get("nodes"));
    let spec = match nodes {
        Some(nodes) => json!({"replicas": replicas, "limits": {"nodes": nodes}}),
        None => json!({"replicas": replicas}),
    };
    Some((pool.metadata.name?.into(), json!({"spec": spec})))
}

#[cfg(test)]
mod tests {
    use poolgate_core::karpenter::Karpenter;

    use super::*;
    use crate::admission::StaticPool;

    fn pool(name: &str, spec: &Value) -> Pool {
        serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec}))
            .expect("a pool of any shape")
    }

    fn follower() -> PoolFollower {
        PoolFollower {
            view: Arc::new(ClusterView::new(Karpenter::default())),
            metrics: ClusterMetrics::default(),
            listing: StaticPools::new(),
            told: false,
        }
    }

    #[test]
    fn static_pools_are_kept_with_what_they_are_judged_by_and_no_others() {
        let mut follower = follower();
        follower.list_begins();
        follower.listed(pool(
            "fixed",
            &json!({"replicas": 2, "limits": {"nodes": "5", "cpu": 1}, "weight": 3}),
        ));
        follower.listed(pool("dynamic", &json!({"limits": {"nodes": 5}})));
        follower.listed(pool("odd", &json!({"replicas": "two", "limits": [1]})));
        assert_eq!(
            follower.view.static_pool("fixed"),
            StaticPool::NotWatched,
            "the list is not complete"
        );
        follower.list_ends();
        let fixed = json!({"spec": {"replicas": 2, "limits": {"nodes": "5"}}});
        assert_eq!(follower.view.static_pool("fixed"), StaticPool::Known(fixed));
        assert_eq!(follower.view.static_pool("dynamic"), StaticPool::NotThere);
        let odd = json!({"spec": {"replicas": "two"}});
        assert_eq!(follower.view.static_pool("odd"), StaticPool::Known(odd));
    }

    #[test]
    fn changes_are_followed_until_the_watch_is_lost() {
        let mut follower = follower();
        follower.list_begins();
        follower.list_ends();
        follower.changed(pool("fixed", &json!({"replicas": 2})));
        assert_eq!(follower.view.static_pool_count(), 1);
        follower.changed(pool("fixed", &json!({"replicas": null})));
        assert_eq!(follower.view.static_pool_count(), 0, "it is static no more");
        follower.changed(pool("fixed", &json!({"replicas": 3})));
        follower.gone(&pool("fixed", &json!({"replicas": 3})));
        assert_eq!(follower.view.static_pool("fixed"), StaticPool::NotThere);
        follower.lost();
        assert_eq!(follower.view.static_pool("fixed"), StaticPool::NotWatched);
    }

    #[test]
    fn memory_for_pools_is_bounded() {
        let mut follower = follower();
        follower.list_begins();
        for number in 0..=MOST_POOLS {
            follower.listed(pool(&format!("pool-{number}"), &json!({"replicas": 1})));
        }
        follower.list_ends();
        assert_eq!(follower.view.static_pool_count(), MOST_POOLS);
        follower.changed(pool("one-more", &json!({"replicas": 1})));
        assert_eq!(follower.view.static_pool_count(), MOST_POOLS);
        follower.changed(pool("pool-0", &json!({"replicas": 9})));
        let changed = json!({"spec": {"replicas": 9}});
        assert_eq!(follower.view.static_pool("pool-0"), StaticPool::Known(changed));
    }
}
