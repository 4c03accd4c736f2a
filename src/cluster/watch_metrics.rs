//! The numbers of the watches on the cluster.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use crate::telemetry::Registry;

/// What is counted of watches.
#[derive(Debug, Clone, Default)]
pub(crate) struct WatchMetrics {
    up: Family<WatchLabel, Gauge>,
    errors: Family<WatchLabel, Counter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WatchLabel {
    watch: &'static str,
}

impl WatchMetrics {
    /// Registers the numbers.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "watch_up",
            "1 while a watch on the cluster runs, 0 while it does not",
            metrics.up.clone(),
        );
        registry.register(
            "watch_errors",
            "How often a watch on the cluster failed and was begun again",
            metrics.errors.clone(),
        );
        metrics
    }

    pub(super) fn is_up(&self, watch: &'static str, up: bool) {
        self.up.get_or_create(&WatchLabel { watch }).set(up.into());
    }

    pub(crate) fn failed(&self, watch: &'static str) {
        self.errors.get_or_create(&WatchLabel { watch }).inc();
    }
}
