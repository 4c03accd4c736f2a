//! The numbers of the serving certificate.

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use crate::runtime::polled_file::LoadMetrics;
use crate::runtime::telemetry::{Label, Registry};

/// From when to when certificates are valid.
#[derive(Debug, Clone, Default)]
pub struct CertificateTimes {
    not_before: Family<[Label; 1], Gauge>,
    not_after: Family<[Label; 1], Gauge>,
}

/// The state of the serving certificate.
#[derive(Debug, Clone, Default)]
pub struct CertificateMetrics {
    pub times: CertificateTimes,
    pub loads: LoadMetrics,
}

impl CertificateTimes {
    /// Registers the numbers.
    pub fn register(registry: &mut Registry) -> Self {
        let not_before = registry.metric(
            "certificate_not_before_timestamp_seconds",
            "When the certificate in force becomes valid, in seconds since 1970",
        );
        let not_after = registry.metric(
            "certificate_not_after_timestamp_seconds",
            "When the certificate in force expires, in seconds since 1970",
        );
        Self {
            not_before,
            not_after,
        }
    }

    /// The leaf is valid from the one time to the other.
    pub fn leaf(&self, not_before: i64, not_after: i64) {
        let leaf = [("certificate", "leaf")];
        self.not_before.get_or_create(&leaf).set(not_before);
        self.not_after.get_or_create(&leaf).set(not_after);
    }

    /// The CA's certificate is valid until then.
    pub fn authority(&self, not_after: i64) {
        let authority = [("certificate", "ca")];
        self.not_after.get_or_create(&authority).set(not_after);
    }
}

impl CertificateMetrics {
    /// Registers the numbers.
    pub fn register(registry: &mut Registry) -> Self {
        Self {
            times: CertificateTimes::register(registry),
            loads: LoadMetrics::register(registry, "certificate", "serving certificate"),
        }
    }
}
