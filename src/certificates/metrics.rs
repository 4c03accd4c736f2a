//! The metrics of `certificates`.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;

use crate::certs::CertificateTimes;
use crate::telemetry::{Counters, Registry};

/// The counters.
#[derive(Debug, Clone)]
pub struct CertificatesMetrics {
    pub times: CertificateTimes,
    pub writes: Counters,
    errors: Counter,
    failing: Gauge,
}

impl CertificatesMetrics {
    /// Registers the numbers.
    pub fn register(registry: &mut Registry) -> Self {
        Self {
            times: CertificateTimes::register(registry),
            writes: registry.counters(
                "certificates_writes",
                "How often the CA's Secret, a webhook configuration's caBundle or the serving certificate's Secret was written",
                "what",
            ),
            errors: registry.metric(
                "certificates_errors",
                "How often reading or writing Secrets and webhook configurations failed",
            ),
            failing: registry.metric("certificates_failing", "1 while that fails"),
        }
    }

    pub fn failed(&self) {
        self.errors.inc();
        self.failing.set(1);
    }

    pub fn succeeded(&self) {
        self.failing.set(0);
    }
}
