//! The metrics of the process as OpenMetrics text. Each module registers its own; this one only collects them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{self, Metric};

use super::logging::DroppedLines;

/// The media type of what [`Registry::encode`] writes.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A label: its name and value.
pub type Label<V = &'static str> = (&'static str, V);

/// Counters that differ in the value of one label.
#[derive(Debug, Clone, Default)]
pub struct Counters {
    label: &'static str,
    family: Family<[Label; 1], Counter>,
}

impl Counters {
    /// Counts one more with this value.
    pub fn inc(&self, value: &'static str) {
        self.family.get_or_create(&[(self.label, value)]).inc();
    }
}

/// Violated invariants: a bug, or a fault that the design does not cover.
#[derive(Debug, Clone, Default)]
pub struct Invariants {
    violations: Counters,
    /// Those that are logged.
    logged: Arc<Mutex<BTreeSet<&'static str>>>,
}

impl Invariants {
    /// Registers the metric.
    pub fn register(registry: &mut Registry) -> Self {
        Self {
            violations: registry.counters(
                "invariant_violations",
                "Violated invariants, by name; each is a bug in poolgate to report",
                "invariant",
            ),
            logged: Arc::default(),
        }
    }

    /// Counts one, and logs the first of its kind.
    pub fn violated(&self, invariant: &'static str, pool: &str, object: &str) {
        self.violations.inc(invariant);
        let mut logged = self.logged.lock();
        if logged.insert(invariant) {
            tracing::error!(
                invariant,
                pool,
                object,
                "an invariant was violated, which is a bug in poolgate. Please report it. Further violations are \
                 only counted"
            );
        }
    }
}

/// The metrics of the process.
#[derive(Debug, Default)]
pub struct Registry(registry::Registry);

impl Registry {
    /// A registry in which every name begins with `poolgate_`, with a metric for the version that runs.
    pub fn of_process() -> Self {
        let mut registry = Self(registry::Registry::with_prefix("poolgate"));
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.0.register("build", "The running version", build);
        let dropped = "Log lines dropped because too many were waiting to be written";
        registry.with("log_lines_dropped", dropped, DroppedLines);
        registry
    }

    /// Registers a new metric, or a family of them.
    pub fn metric<M>(&mut self, name: impl Into<String>, help: impl Into<String>) -> M
    where
        M: Metric + Clone + Default,
    {
        self.with(name, help, M::default())
    }

    /// Registers new counters, one for each value of this label.
    pub fn counters(&mut self, name: &'static str, help: &'static str, label: &'static str) -> Counters {
        Counters {
            label,
            family: self.metric(name, help),
        }
    }

    /// Registers this one.
    pub fn with<M>(&mut self, name: impl Into<String>, help: impl Into<String>, metric: M) -> M
    where
        M: Metric + Clone,
    {
        self.0.register(name, help, Named(metric.clone()));
        metric
    }

    /// Writes the current metrics.
    pub fn encode(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        text::encode(&mut text, &self.0)?;
        Ok(text)
    }
}

/// A family that is shown from the start, before its first count, so that users see that it exists.
#[derive(Debug)]
struct Named<M>(M);

impl<M: EncodeMetric> EncodeMetric for Named<M> {
    fn encode(&self, encoder: MetricEncoder<'_>) -> fmt::Result {
        self.0.encode(encoder)
    }

    fn metric_type(&self) -> MetricType {
        self.0.metric_type()
    }

    fn is_empty(&self) -> bool {
        false
    }
}
