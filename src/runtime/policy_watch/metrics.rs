//! The metrics of the policy file.

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use crate::runtime::polled_file::LoadMetrics;
use crate::runtime::telemetry::{Label, Registry};

/// The state of the policy in force.
#[derive(Debug, Clone, Default)]
pub struct PolicyMetrics {
    info: Family<[Label<String>; 2], Gauge>,
    pub loads: LoadMetrics,
}

impl PolicyMetrics {
    /// Registers the metrics.
    pub fn register(registry: &mut Registry) -> Self {
        let info = registry.metric(
            "policy_info",
            "Always 1, with the SHA-256 of the policy file in force",
        );
        Self {
            info,
            loads: LoadMetrics::register(registry, "policy", "policy"),
        }
    }

    /// Which policy is in force; without a hash it is the built-in one.
    pub fn in_force(&self, sha256: Option<&str>) {
        self.info.clear();
        let source = if sha256.is_some() { "file" } else { "built-in" };
        let labels = [
            ("source", source.into()),
            ("sha256", sha256.unwrap_or_default().into()),
        ];
        self.info.get_or_create(&labels).set(1);
    }
}
