//! The metrics of `certificates`.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use super::error::KeepError;
use crate::certs::CertificateTimes;
use crate::telemetry::{Counters, Registry};

/// The counters.
#[derive(Debug, Clone)]
pub struct CertificatesMetrics {
    pub times: CertificateTimes,
    pub writes: Counters,
    errors: Counter,
    failing: Gauge,
    contested: Family<[(&'static str, String); 1], Gauge>,
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
            contested: registry.metric(
                "certificates_contested",
                "1 while another field manager, which is named, undoes what poolgate writes",
            ),
        }
    }

    pub fn failed(&self) {
        self.errors.inc();
        self.failing.set(1);
    }

    /// Shows who undoes what is written, if anybody does.
    pub fn contested(&self, error: Option<&KeepError>) {
        self.contested.clear();
        if let Some(KeepError::Contested { writer, .. }) = error {
            self.contested.get_or_create(&[("writer", writer.clone())]).set(1);
        }
    }

    pub fn succeeded(&self) {
        self.failing.set(0);
    }
}
