//! The metrics of `certificates`.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;

use crate::runtime::telemetry::{Counters, Registry};
use crate::serving::certs::CertificateTimes;

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
                "Writes of the CA's Secret, a caBundle or the serving certificate's Secret",
                "what",
            ),
            errors: registry.metric(
                "certificates_errors",
                "Failed reads and writes of Secrets and webhook configurations",
            ),
            failing: registry.metric("certificates_failing", "1 while renewing certificates is failing"),
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
