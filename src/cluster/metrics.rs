//! The metrics of the cluster side.

use std::sync::atomic::AtomicU64;

use poolgate_core::facts::TargetKarpenter;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use crate::runtime::telemetry::{Counters, Label, Registry};

/// The metrics of the cluster.
#[derive(Debug, Clone, Default)]
pub struct ClusterMetrics {
    release: Family<[Label<String>; 2], Gauge>,
    pub watches: WatchMetrics,
    unreadable: Counter,
    static_pools: Gauge,
    denied_pools: Family<[Label<String>; 2], Gauge>,
    limit_used: Family<[Label<String>; 2], Gauge<f64, AtomicU64>>,
    /// Changes of a template whose hash is not known, by why.
    pub drift_doubts: Counters,
}

impl ClusterMetrics {
    /// Registers the metrics.
    pub fn register(registry: &mut Registry) -> Self {
        Self {
            watches: WatchMetrics::register(registry),
            release: registry.metric(
                "karpenter_release_info",
                "1 for the Karpenter release that NodePools are checked for, with its source",
            ),
            unreadable: registry.metric(
                "crd_decode_errors",
                "Unreadable NodePool definitions; the previous one stays in use",
            ),
            static_pools: registry.metric(
                "static_pools",
                "Known NodePools with spec.replicas; kubectl scale is checked against them",
            ),
            denied_pools: registry.metric(
                "stored_nodepools_denied",
                "1 for each rule that would deny a stored NodePool on creation",
            ),
            limit_used: registry.metric(
                "nodepool_limit_used_ratio",
                "Used fraction of a stored NodePool's limit; 1 means full",
            ),
            drift_doubts: registry.counters(
                "drift_doubts",
                "Changed templates with an unknown hash; poolgate cannot tell which nodes are replaced",
                "reason",
            ),
        }
    }

    /// Shows which Karpenter release NodePools are checked for.
    pub fn rules_for(&self, karpenter: &TargetKarpenter) {
        self.release.clear();
        let labels = [
            ("release", karpenter.release().to_string()),
            ("source", karpenter.source().as_str().into()),
        ];
        self.release.get_or_create(&labels).set(1);
    }

    pub fn unreadable_definition(&self) {
        self.unreadable.inc();
    }

    pub fn static_pools(&self, count: usize) {
        self.static_pools.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Whether a rule would deny a stored pool.
    pub fn denied_pool(&self, pool: &str, rule: &'static str, is_denied: bool) {
        let labels = [("nodepool", pool.into()), ("rule", rule.into())];
        if is_denied {
            self.denied_pools.get_or_create(&labels).set(1);
        } else {
            self.denied_pools.remove(&labels);
        }
    }

    /// This much of a pool's limit is used; `None` if it has no such limit any more.
    pub fn limit_used(&self, pool: &str, resource: &str, used: Option<f64>) {
        let labels = [("nodepool", pool.into()), ("resource", resource.into())];
        if let Some(used) = used {
            self.limit_used.get_or_create(&labels).set(used);
        } else {
            self.limit_used.remove(&labels);
        }
    }

    /// The stored pools are unknown.
    pub fn no_stored_pools(&self) {
        self.denied_pools.clear();
        self.limit_used.clear();
    }
}

/// The metrics of watches.
#[derive(Debug, Clone, Default)]
pub struct WatchMetrics {
    up: Family<[Label; 1], Gauge>,
    pub errors: Counters,
}

impl WatchMetrics {
    /// Registers the metrics.
    pub fn register(registry: &mut Registry) -> Self {
        Self {
            up: registry.metric(
                "watch_up",
                "1 while the watch on the cluster runs, 0 while it is down",
            ),
            errors: registry.counters(
                "watch_errors",
                "Restarts of a watch on the cluster after a failure",
                "watch",
            ),
        }
    }

    pub fn is_up(&self, watch: &'static str, up: bool) {
        self.up.get_or_create(&[("watch", watch)]).set(up.into());
    }
}
