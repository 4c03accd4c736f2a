//! The metrics of `certificates`.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use crate::certs::CertificateTimes;
use crate::telemetry::Registry;

/// The counters.
#[derive(Debug, Clone)]
pub(super) struct CertificatesMetrics {
    pub(super) times: CertificateTimes,
    writes: Family<[(&'static str, &'static str); 1], Counter>,
    errors: Counter,
    failing: Gauge,
}

impl CertificatesMetrics {
    /// Registers the numbers.
    pub(super) fn register(registry: &mut Registry) -> Self {
        Self {
            times: CertificateTimes::register(registry),
            writes: registry.metric(
                "certificates_writes",
                "How often the CA's Secret, a webhook configuration's caBundle or the serving certificate's Secret was written",
            ),
            errors: registry.metric(
                "certificates_errors",
                "How often reading or writing Secrets and webhook configurations failed",
            ),
            failing: registry.metric("certificates_failing", "1 while that fails"),
        }
    }

    pub(super) fn written(&self, what: &'static str) {
        self.writes.get_or_create(&[("what", what)]).inc();
    }

    pub(super) fn failed(&self) {
        self.errors.inc();
        self.failing.set(1);
    }

    pub(super) fn succeeded(&self) {
        self.failing.set(0);
    }
}
