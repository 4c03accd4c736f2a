//! Reads the registered webhooks, and reports their problems: in the log once for each change, in metrics, in
//! `/readyz`.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use kube::Client;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use tokio::time::sleep;

use super::compare::{Comparison, Problem, Registered, Serves, Shown, compare};
use crate::cluster::webhooks::{self, OF_REVIEWS, OF_THE_GATE, Webhook};
use crate::cluster::{ApiError, WatchMetrics};
use crate::runtime::lifecycle::{StatusBoard, StatusLine};
use crate::runtime::telemetry::{Label, Registry};
use crate::serving::certs::{Current, unix_seconds};

/// How often it is read.
const EVERY: Duration = Duration::from_secs(30);

/// How long a read may take.
const READ: Duration = Duration::from_secs(10);

/// Its name among the watches in metrics.
const NAME: &str = "registration";

/// The result of a read, or why there is none.
type Found = Result<Comparison, String>;

/// Reads the webhooks that are registered for this. The API server has `limit` for each configuration.
pub async fn read(client: &Client, serves: &[Serves], limit: Duration) -> Result<Vec<Webhook>, ApiError> {
    let names = serves.iter().flat_map(|what| match what {
        Serves::Reviews => OF_REVIEWS,
        Serves::Gate => OF_THE_GATE,
    });
    let configurations = webhooks::fetch(client, names.copied().collect(), limit).await?;
    let webhooks = configurations.into_iter().flat_map(|(_, one)| one.webhooks);
    Ok(webhooks.collect())
}

/// The metrics of the registration.
#[derive(Debug, Clone, Default)]
pub struct RegistrationMetrics {
    registered: Family<Registered, Gauge>,
    problems: Family<[Label; 1], Gauge>,
}

impl RegistrationMetrics {
    /// Registers the numbers.
    pub fn register(registry: &mut Registry) -> Self {
        Self {
            registered: registry.metric(
                "webhook_registered",
                "1 for each registered webhook, with its path and failure policy",
            ),
            problems: registry.metric(
                "registration_problems",
                "Problems of the registered webhooks, by kind",
            ),
        }
    }

    fn show(&self, comparison: &Comparison) {
        self.registered.clear();
        for one in &comparison.registered {
            self.registered.get_or_create(one).set(1);
        }
        for kind in Problem::ALL {
            let problems = comparison.problems.iter();
            let count = problems.filter(|(problem, _)| *problem == kind).count();
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.problems
                .get_or_create(&[("problem", kind.name())])
                .set(count);
        }
    }
}

/// Reads, compares and reports.
#[derive(Debug)]
pub struct Registration {
    /// The certificate that is served.
    certificate: Arc<Current>,
    serves: Serves,
    line: StatusLine,
    metrics: RegistrationMetrics,
}

impl Registration {
    /// For a server that shows this certificate and serves these paths.
    pub fn new(certificate: Arc<Current>, serves: Serves, metrics: RegistrationMetrics) -> Self {
        Self {
            certificate,
            serves,
            line: StatusLine::default(),
            metrics,
        }
    }

    /// Shows on this board what it finds.
    #[must_use]
    pub fn shown_on(self, board: &StatusBoard) -> Self {
        let line = board.line(NAME);
        line.set("not yet read");
        Self { line, ..self }
    }

    /// Reads and compares until the process stops.
    pub async fn watch(self, client: Client, watches: WatchMetrics) {
        let mut before = None;
        loop {
            let found = self.read(&client).await;
            watches.is_up(NAME, found.is_ok());
            if found.is_err() {
                watches.errors.inc(NAME);
            }
            if before.as_ref() != Some(&found) {
                self.report(&found, before.as_ref());
                before = Some(found);
            }
            sleep(EVERY).await;
        }
    }

    /// Compares what is registered now.
    async fn read(&self, client: &Client) -> Found {
        let webhooks = read(client, &[self.serves], READ).await?;
        let shown = Shown {
            chain: self.certificate.chain(),
            now: unix_seconds(SystemTime::now()),
        };
        Ok(compare(&webhooks, &[self.serves], Some(&shown)))
    }

    fn report(&self, found: &Found, before: Option<&Found>) {
        let line = match found {
            Err(error) => {
                tracing::warn!(error, "could not read the webhook configurations");
                format!("not read: {error}")
            }
            Ok(comparison) => {
                self.metrics.show(comparison);
                let reported: &[_] = match before {
                    Some(Ok(before)) => &before.problems,
                    _ => &[],
                };
                for (problem, text) in comparison.problems.iter().filter(|one| !reported.contains(one)) {
                    tracing::warn!(
                        problem = problem.name(),
                        text,
                        "the webhook registration is wrong"
                    );
                }
                let registered = comparison.registered.iter();
                let registered: Vec<String> = registered
                    .map(|one| format!("{} ({})", one.path, one.failure_policy))
                    .collect();
                let problems = comparison.problems.iter().map(|(_, text)| text.as_str());
                let line = if comparison.problems.is_empty() {
                    registered.join(", ")
                } else {
                    problems.collect::<Vec<_>>().join("; ")
                };
                tracing::info!(
                    registered = registered.join(", "),
                    "read the webhook configurations"
                );
                line
            }
        };
        self.line.set(line);
    }
}
