//! The numbers of the serving certificate.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use crate::telemetry::Registry;

/// What is known of the serving certificate.
#[derive(Debug, Clone, Default)]
pub(crate) struct CertificateMetrics {
    not_after: Family<CertificateLabel, Gauge>,
    loads: Counter,
    load_errors: Counter,
    failing: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CertificateLabel {
    certificate: &'static str,
}

impl CertificateMetrics {
    /// Registers the numbers.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "certificate_not_after_timestamp_seconds",
            "When the certificate in force ends, in seconds since 1970",
            metrics.not_after.clone(),
        );
        registry.register(
            "certificate_loads",
            "How often a serving certificate was taken into force",
            metrics.loads.clone(),
        );
        registry.register(
            "certificate_load_errors",
            "How often a new serving certificate could not be used; the one before stays in force",
            metrics.load_errors.clone(),
        );
        registry.register(
            "certificate_load_failing",
            "1 while the files hold no usable certificate and the last good one is in force",
            metrics.failing.clone(),
        );
        metrics
    }

    pub(super) fn loaded(&self, leaf_not_after: i64) {
        self.not_after
            .get_or_create(&CertificateLabel { certificate: "leaf" })
            .set(leaf_not_after);
        self.loads.inc();
        self.failing.set(0);
    }

    pub(super) fn authority(&self, not_after: i64) {
        self.not_after
            .get_or_create(&CertificateLabel { certificate: "ca" })
            .set(not_after);
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
