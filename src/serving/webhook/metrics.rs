//! The metrics of the webhook. Their names follow controller-runtime's, so that its dashboards can be used.

use tokio::time::Instant;

use axum::http::StatusCode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use crate::runtime::telemetry::{Label, Registry};
use crate::serving::admission::Summary;

/// The upper ends of the latency buckets, in seconds: from a cached small review to the longest deadline.
const LATENCY_BUCKETS: [f64; 13] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 10.0, 30.0,
];

/// A path that receives reviews, and its metrics, looked up once, so that no request has to.
#[derive(Debug)]
pub struct Route {
    name: &'static str,
    in_flight: Gauge,
    latency: Histogram,
}

impl Route {
    /// The word for logs and metrics.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Counts a request until its answer is ready.
    pub fn begin(&self) -> InFlight<'_> {
        self.in_flight.inc();
        InFlight {
            route: self,
            began: Instant::now(),
        }
    }
}

/// The metrics of the webhook.
#[derive(Debug)]
pub struct WebhookMetrics {
    requests: Family<RequestLabels, Counter>,
    in_flight: Family<[Label; 1], Gauge>,
    latency: Family<[Label; 1], Histogram>,
    reviews: Family<ReviewLabels, Counter>,
    findings: Family<RuleLabel, Counter>,
    malformed: Counter,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    webhook: &'static str,
    code: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReviewLabels {
    webhook: &'static str,
    operation: &'static str,
    verdict: &'static str,
    patched: &'static str,
    dry_run: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RuleLabel {
    rule: &'static str,
}

/// A request that is being answered; counted until it is dropped.
#[derive(Debug)]
pub struct InFlight<'a> {
    route: &'a Route,
    began: Instant,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.route.in_flight.dec();
        self.route.latency.observe(self.began.elapsed().as_secs_f64());
    }
}

impl WebhookMetrics {
    /// Registers the numbers.
    pub fn register(registry: &mut Registry) -> Self {
        Self {
            requests: registry.metric("webhook_requests", "Requests by HTTP status"),
            in_flight: registry.metric("webhook_requests_in_flight", "Requests being answered"),
            latency: registry.with(
                "webhook_latency_seconds",
                "Time from a request's headers to its answer",
                Family::new_with_constructor(|| Histogram::new(LATENCY_BUCKETS)),
            ),
            reviews: registry.metric("webhook_reviews", "Reviews by verdict"),
            findings: registry.metric("webhook_findings", "Findings that denied or warned, by rule"),
            malformed: registry.metric("webhook_malformed", "Bodies that are not an AdmissionReview"),
        }
    }

    /// A path of this name.
    pub fn route(&self, name: &'static str) -> Route {
        let label = [("webhook", name)];
        Route {
            name,
            in_flight: self.in_flight.get_or_create_owned(&label),
            latency: self.latency.get_or_create_owned(&label),
        }
    }

    /// Counts an answer; `route` is `None` if the path is not one of them.
    pub fn answered(&self, route: Option<&Route>, status: StatusCode) {
        let webhook = route.map_or("none", Route::name);
        self.requests
            .get_or_create(&RequestLabels {
                webhook,
                code: status.as_u16(),
            })
            .inc();
    }

    /// Counts the result of a review.
    pub fn reviewed(&self, route: &Route, summary: &Summary<'_>) {
        let yes = |flag: bool| if flag { "true" } else { "false" };
        self.reviews
            .get_or_create(&ReviewLabels {
                webhook: route.name(),
                operation: summary.operation,
                verdict: summary.verdict.as_str(),
                patched: yes(summary.patched),
                dry_run: yes(summary.dry_run),
            })
            .inc();
        for rule in &summary.rules {
            self.findings
                .get_or_create(&RuleLabel { rule: rule.as_str() })
                .inc();
        }
    }

    /// Counts a body that is not a review.
    pub fn malformed(&self) {
        self.malformed.inc();
    }
}
