//! The NodePools of the cluster: `kubectl scale` is checked with them, because a scale request contains only the name of the
//! pool; and the gate takes the node limits from them.

use std::future::pending;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use poolgate_core::api::{
    LONGEST_SCHEDULE, NODE_LIMIT_ANNOTATION, NODE_LIMIT_MODE_ANNOTATION, NODE_LIMIT_SCHEDULE_ANNOTATION,
    OVER_LIMIT_ANNOTATION, SURGE_ANNOTATION,
};
use poolgate_core::value::quantity::MAX_LENGTH;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use super::collection::Versioned;
use super::metrics::ClusterMetrics;
use super::objects::{Metadata, Object};
use super::stored_pools::StoredPools;
use super::watch::Follower;
use crate::cluster::view::{CachedPool, ClusterView, Pools};

/// How many pools are kept. Hundreds would be many. Beyond this number, scaling is not checked, and limits are read when
/// they are needed.
const MOST_POOLS: usize = 10_000;

/// The longest word of a NodePool that is kept, in bytes: no number is longer.
const LONGEST_WORD: usize = MAX_LENGTH;

/// The annotations that set a node limit, each with the most that is kept of it, in bytes.
const LIMITS: [(&str, usize); 2] = [
    (NODE_LIMIT_ANNOTATION, LONGEST_WORD),
    (NODE_LIMIT_SCHEDULE_ANNOTATION, LONGEST_SCHEDULE),
];

/// The placeholder of a limit that is neither a word nor a number, or too long to keep.
const UNREADABLE: &str = "unreadable";

/// The most labels of a NodePool that are kept, in bytes. Scaling a pool with more is not checked.
const MOST_LABELS: usize = 4 * 1024;

/// The fields of a NodePool's spec that are needed, of any type, so that no pool stops the watch.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct PoolSpec {
    replicas: Value,
    limits: Value,
    disruption: Value,
    template: Value,
}

/// A NodePool, as far as it is needed.
pub type Pool = Object<Metadata<Value, Value>, PoolSpec>;

/// A NodePool, and all of it.
#[derive(Debug, Clone)]
pub struct WholePool {
    pool: Pool,
    object: Value,
}

impl<'de> Deserialize<'de> for WholePool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Value::deserialize(deserializer)?;
        let pool = Pool::deserialize(&object).map_err(Error::custom)?;
        Ok(Self { pool, object })
    }
}

impl Versioned for WholePool {
    fn version(&self) -> Option<&str> {
        self.pool.version()
    }
}

/// Keeps the view's pools up to date, and which of them would be denied.
pub struct PoolFollower {
    pub view: Arc<ClusterView>,
    pub metrics: ClusterMetrics,
    /// None where nothing is reviewed.
    pub stored: Option<StoredPools>,
    pub listing: Pools,
    /// Whether it was logged that there are too many.
    pub is_logged: bool,
}

impl Follower for PoolFollower {
    type Object = WholePool;

    fn list_begins(&mut self) {
        self.listing = Pools::default();
        if let Some(stored) = &mut self.stored {
            stored.list_begins();
        }
    }

    fn listed(&mut self, WholePool { pool, object }: WholePool) {
        if self.has_room(self.listing.len())
            && let Some((name, pool)) = kept(pool)
        {
            if let Some(stored) = &mut self.stored {
                stored.listed(&name, &object);
            }
            self.listing.insert(name, pool);
        }
    }

    fn list_ends(&mut self) {
        if let Some(stored) = &mut self.stored {
            stored.list_ends();
        }
        let listing = std::mem::take(&mut self.listing);
        self.metrics.static_pools(listing.statics());
        self.view.set_pools(Some(listing));
    }

    fn changed(&mut self, WholePool { pool, object }: WholePool) {
        let Some((name, pool)) = kept(pool) else { return };
        if self.view.pool(&name).is_some() || self.has_room(self.view.pool_count()) {
            if let Some(stored) = &mut self.stored {
                stored.changed(&name, &object);
            }
            self.metrics.static_pools(self.view.set_pool(name, Some(pool)));
        }
    }

    fn gone(&mut self, WholePool { pool, .. }: &WholePool) {
        if let Some(stored) = &mut self.stored {
            stored.gone(&pool.metadata.name);
        }
        let statics = self.view.set_pool(pool.metadata.name.clone(), None);
        self.metrics.static_pools(statics);
    }

    /// No scale request is denied by a limit that may have been raised since.
    fn lost(&mut self) {
        self.metrics.static_pools(0);
        if let Some(stored) = &mut self.stored {
            stored.lost();
        }
        self.view.set_pools(None);
    }

    fn wants_list(&self) -> BoxFuture<'static, ()> {
        let outdated = self.stored.as_ref().map(StoredPools::outdated);
        outdated.unwrap_or_else(|| Box::pin(pending()))
    }
}

impl PoolFollower {
    fn has_room(&mut self, count: usize) -> bool {
        let room = count < MOST_POOLS;
        if !room && !self.is_logged {
            self.is_logged = true;
            tracing::warn!(
                limit = MOST_POOLS,
                "too many NodePools to cache: `kubectl scale` of the others is not checked, and their limits are \
                 read for each decision"
            );
        }
        room
    }
}

/// The name of a pool, and what is kept of it.
pub fn kept(pool: Pool) -> Option<(Box<str>, CachedPool)> {
    let kept = CachedPool {
        version: pool.metadata.version_number()?,
        object: object(&pool).map(Arc::new),
        uid: pool.metadata.uid,
    };
    Some((pool.metadata.name, kept))
}

/// As much of a pool as scale requests and node limits need; none if the pool is not static and has no limit.
fn object(pool: &Pool) -> Option<Value> {
    let labels = &pool.metadata.labels;
    let replicas = Some(&pool.spec.replicas).filter(|replicas| is_short(replicas));
    let nodes = readable_or_not(&pool.spec.limits, "nodes", LONGEST_WORD);
    let mut keys = LIMITS.iter();
    let is_annotated = keys.any(|(key, _)| pool.metadata.annotations.get(key).is_some());
    if replicas.is_none() && nodes.is_none() && !is_annotated {
        return None;
    }
    let mode = short(&pool.spec.disruption, "nodeLimitMode");
    let mut spec = Map::new();
    spec.extend(replicas.map(|replicas| ("replicas".into(), replicas.clone())));
    spec.extend(nodes.map(|nodes| ("limits".into(), json!({"nodes": nodes}))));
    spec.extend(mode.map(|mode| ("disruption".into(), json!({"nodeLimitMode": mode}))));
    let mut annotations: Map<String, Value> = [
        NODE_LIMIT_MODE_ANNOTATION,
        OVER_LIMIT_ANNOTATION,
        SURGE_ANNOTATION,
    ]
    .into_iter()
    .filter_map(|key| Some((key.into(), short(&pool.metadata.annotations, key)?.clone())))
    .collect();
    for (key, longest) in LIMITS {
        let limit = readable_or_not(&pool.metadata.annotations, key, longest);
        annotations.extend(limit.map(|limit| (key.into(), limit)));
    }
    let mut metadata = Map::new();
    if !annotations.is_empty() {
        metadata.insert("annotations".into(), annotations.into());
    }
    // The verdict on a scale request also depends on the policy: its exemptions and the provider's feature gates.
    if replicas.is_some() && are_few(labels) {
        metadata.insert("name".into(), (&*pool.metadata.name).into());
        metadata.extend(labels.is_object().then(|| ("labels".into(), labels.clone())));
        let deleted = pool.metadata.deletion_timestamp.as_deref();
        metadata.extend(deleted.map(|at| ("deletionTimestamp".into(), at.into())));
        let class = pool.spec.template.pointer("/spec/nodeClassRef");
        let group = class.and_then(|class| short(class, "group"));
        spec.extend(group.map(|group| {
            (
                "template".into(),
                json!({"spec": {"nodeClassRef": {"group": group}}}),
            )
        }));
    }
    let parts = [("metadata", metadata), ("spec", spec)];
    let parts = parts.into_iter().filter(|(_, part)| !part.is_empty());
    Some(parts.map(|(name, part)| (name, Value::Object(part))).collect())
}

/// Whether the labels of a pool are worth the memory.
fn are_few(labels: &Value) -> bool {
    let labels = labels.as_object().into_iter().flatten();
    let bytes = labels.map(|(key, value)| key.len() + value.as_str().map_or(MOST_LABELS, str::len));
    bytes.sum::<usize>() <= MOST_LABELS
}

/// A field of an object, if it is worth the memory.
fn short<'v>(object: &'v Value, field: &str) -> Option<&'v Value> {
    object.get(field).filter(|value| is_short(value))
}

/// The same of a limit. One that is too long to be kept must not look as if there were none.
fn readable_or_not(object: &Value, field: &str, longest: usize) -> Option<Value> {
    let value = object.get(field).filter(|value| !value.is_null())?;
    Some(if is_at_most(value, longest) {
        value.clone()
    } else {
        UNREADABLE.into()
    })
}

/// Whether a value can be a meaningful word or number, so that it is worth the memory.
fn is_short(value: &Value) -> bool {
    is_at_most(value, LONGEST_WORD)
}

fn is_at_most(value: &Value, longest: usize) -> bool {
    match value {
        Value::Number(_) => true,
        Value::String(text) => text.len() <= longest,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use poolgate_core::facts::TargetKarpenter;
    use poolgate_core::policy::Policy;

    use super::*;
    use crate::cluster::view::StaticPool;

    fn pool(name: &str, spec: &Value) -> WholePool {
        annotated(name, spec, &json!({}))
    }

    fn annotated(name: &str, spec: &Value, annotations: &Value) -> WholePool {
        let metadata = json!({"name": name, "uid": "u", "resourceVersion": "7", "annotations": annotations});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec})).expect("a pool of any shape")
    }

    fn follower() -> PoolFollower {
        let view = Arc::new(ClusterView::new(TargetKarpenter::default()));
        let metrics = ClusterMetrics::default();
        PoolFollower {
            stored: Some(StoredPools::new(
                Arc::clone(&view),
                Policy::default().into(),
                metrics.clone(),
            )),
            view,
            metrics,
            listing: Pools::default(),
            is_logged: false,
        }
    }

    #[test]
    fn pools_are_kept_with_what_reviews_need() {
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
        let fixed = json!({"metadata": {"name": "fixed"}, "spec": {"replicas": 2, "limits": {"nodes": "5"}}});
        assert_eq!(follower.view.static_pool("fixed"), StaticPool::Known(fixed));
        assert_eq!(follower.view.static_pool("dynamic"), StaticPool::NotThere);
        let odd = json!({"metadata": {"name": "odd"}, "spec": {"replicas": "two"}});
        assert_eq!(follower.view.static_pool("odd"), StaticPool::Known(odd));
    }

    #[test]
    fn a_static_pool_is_kept_with_what_a_policy_judges_it_by() {
        let object = |labels: &Value| {
            let class = json!({"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"});
            let pool = json!({
                "metadata": {
                    "name": "fixed", "uid": "u", "resourceVersion": "7", "labels": labels,
                    "deletionTimestamp": "2026-01-01T00:00:00Z",
                },
                "spec": {"replicas": 2, "template": {"spec": {"nodeClassRef": class, "requirements": []}}},
            });
            let pool: WholePool = serde_json::from_value(pool).expect("a pool");
            kept(pool.pool).expect("a pool").1.object
        };
        let labels = json!({"team": "blue"});
        assert_eq!(
            object(&labels).as_deref(),
            Some(&json!({
                "metadata": {"name": "fixed", "labels": labels, "deletionTimestamp": "2026-01-01T00:00:00Z"},
                "spec": {"replicas": 2, "template": {"spec": {"nodeClassRef": {"group": "karpenter.k8s.aws"}}}},
            }))
        );
        for many in [json!({"team": "b".repeat(MOST_LABELS)}), json!({"team": [1]})] {
            let gated = json!({"spec": {"replicas": 2}});
            assert_eq!(
                object(&many).as_deref(),
                Some(&gated),
                "scaling it is not checked"
            );
        }
    }

    #[test]
    fn a_limit_is_kept_with_its_mode_and_a_pool_without_one_by_its_name() {
        let mut follower = follower();
        follower.list_begins();
        let annotations =
            json!({"poolgate.dev/over-limit": "Terminate", "poolgate.dev/surge": "1", "team": "blue"});
        let spec = json!({
            "limits": {"nodes": 5, "cpu": 9},
            "disruption": {"nodeLimitMode": "Soft", "budgets": []},
        });
        follower.listed(annotated("limited", &spec, &annotations));
        let left = json!({"poolgate.dev/node-limit": "5"});
        follower.listed(annotated("left", &json!({}), &left));
        follower.listed(pool("free", &json!({"limits": {"cpu": 5}})));
        follower.listed(pool("huge", &json!({"limits": {"nodes": "9".repeat(2_000)}})));
        follower.list_ends();
        let limited = follower.view.pool("limited").expect("a pool");
        assert_eq!((&*limited.uid, limited.version), ("u", 7));
        assert_eq!(
            limited.object.as_deref(),
            Some(&json!({
                "metadata": {"annotations": {"poolgate.dev/over-limit": "Terminate", "poolgate.dev/surge": "1"}},
                "spec": {"limits": {"nodes": 5}, "disruption": {"nodeLimitMode": "Soft"}},
            }))
        );
        let object = |name| follower.view.pool(name).map(|pool| pool.object.is_some());
        let kept = ["limited", "left", "free", "huge", "unknown"].map(object);
        assert_eq!(kept, [Some(true), Some(true), Some(false), Some(true), None]);
        let left_to_poolgate = follower.view.pool("left").and_then(|pool| pool.object);
        assert_eq!(
            left_to_poolgate
                .as_deref()
                .map(|pool| &pool["metadata"]["annotations"]),
            Some(&left)
        );
    }

    #[test]
    fn changes_are_followed_until_the_watch_is_lost() {
        let mut follower = follower();
        follower.list_begins();
        follower.list_ends();
        follower.changed(pool("fixed", &json!({"replicas": 2})));
        assert_ne!(follower.view.static_pool("fixed"), StaticPool::NotThere);
        follower.changed(pool("fixed", &json!({"replicas": null})));
        assert_eq!(
            follower.view.static_pool("fixed"),
            StaticPool::NotThere,
            "it is static no more"
        );
        assert_eq!(follower.view.pool_count(), 1);
        follower.changed(pool("fixed", &json!({"replicas": 3})));
        follower.gone(&pool("fixed", &json!({"replicas": 3})));
        assert_eq!(follower.view.static_pool("fixed"), StaticPool::NotThere);
        assert_eq!(follower.view.pool_count(), 0);
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
        assert_eq!(follower.view.pool_count(), MOST_POOLS);
        follower.changed(pool("one-more", &json!({"replicas": 1})));
        assert_eq!(follower.view.pool_count(), MOST_POOLS);
        assert!(follower.view.pool("one-more").is_none(), "who needs it reads it");
        follower.changed(pool("pool-0", &json!({"replicas": 9})));
        let changed = json!({"metadata": {"name": "pool-0"}, "spec": {"replicas": 9}});
        assert_eq!(follower.view.static_pool("pool-0"), StaticPool::Known(changed));
    }
}
