//! The numbers of the cluster side.

use poolgate_core::karpenter::Karpenter;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use super::watch_metrics::WatchMetrics;
use crate::telemetry::Registry;

/// What is counted of the cluster.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClusterMetrics {
    release: Family<ReleaseLabels, Gauge>,
    watches: WatchMetrics,
    unreadable: Counter,
    static_pools: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReleaseLabels {
    release: String,
    source: &'static str,
}

impl ClusterMetrics {
    /// Registers the numbers.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            watches: WatchMetrics::register(registry),
            ..Self::default()
        };
        registry.register(
            "karpenter_release_info",
            "1 for the Karpenter release that NodePools are judged for, and who says so",
            metrics.release.clone(),
        );
        registry.register(
            "crd_decode_errors",
            "NodePool definitions that could not be read; what was known before holds",
            metrics.unreadable.clone(),
        );
        registry.register(
            "static_pools",
            "NodePools with spec.replicas that are known for judging kubectl scale",
            metrics.static_pools.clone(),
        );
        metrics
    }

    /// Says which Karpenter NodePools are judged for.
    pub(crate) fn judging_for(&self, karpenter: &Karpenter) {
        self.release.clear();
        let labels = ReleaseLabels {
            release: karpenter.release().to_string(),
            source: karpenter.source().as_str(),
        };
        self.release.get_or_create(&labels).set(1);
    }

    /// The numbers of the watches.
    pub(crate) fn watches(&self) -> &WatchMetrics {
        &self.watches
    }

    pub(crate) fn unreadable_definition(&self) {
        self.unreadable.inc();
    }

    pub(crate) fn static_pools(&self, count: usize) {
        self.static_pools.set(i64::try_from(count).unwrap_or(i64::MAX));
    }
}
