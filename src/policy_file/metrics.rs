//! The numbers of the policy file.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use crate::telemetry::Registry;

/// What is known of the policy in force.
#[derive(Debug, Clone, Default)]
pub(crate) struct PolicyMetrics {
    info: Family<PolicyLabels, Gauge>,
    loads: Counter,
    load_errors: Counter,
    failing: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PolicyLabels {
    source: &'static str,
    sha256: String,
}

impl PolicyMetrics {
    /// Registers the numbers.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "policy_info",
            "The policy in force: always 1, with the SHA-256 of the file that it came from",
            metrics.info.clone(),
        );
        registry.register(
            "policy_loads",
            "How often a policy was taken into force",
            metrics.loads.clone(),
        );
        registry.register(
            "policy_load_errors",
            "How often a changed policy file could not be used; the policy before stays in force",
            metrics.load_errors.clone(),
        );
        registry.register(
            "policy_load_failing",
            "1 while the policy file cannot be used and the last good policy is in force",
            metrics.failing.clone(),
        );
        metrics
    }

    /// A policy is in force; without a hash it is the built-in one.
    pub(crate) fn loaded(&self, sha256: Option<&str>) {
        self.info.clear();
        let labels = PolicyLabels {
            source: if sha256.is_some() { "file" } else { "built-in" },
            sha256: sha256.unwrap_or_default().to_owned(),
        };
        self.info.get_or_create(&labels).set(1);
        self.loads.inc();
        self.failing.set(0);
    }

    pub(super) fn rejected(&self) {
        self.load_errors.inc();
        self.failing.set(1);
    }

    pub(super) fn unchanged(&self) {
        self.failing.set(0);
    }

    #[cfg(test)]
    pub(super) fn counts(&self) -> (u64, u64, i64) {
        (self.loads.get(), self.load_errors.get(), self.failing.get())
    }
}
