//! The numbers of the process in OpenMetrics text. Each module registers its own; this one only collects.

use std::fmt;

pub(crate) use prometheus_client::registry::Registry;

use prometheus_client::encoding::text;
use prometheus_client::metrics::info::Info;

/// The media type of what [`Metrics::encode`] writes.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All numbers of the process.
#[derive(Debug)]
pub(crate) struct Metrics(Registry);

impl Metrics {
    /// A registry in which every name begins with `poolgate_`, and which says what runs.
    pub(crate) fn registry() -> Registry {
        let mut registry = Registry::with_prefix("poolgate");
        registry.register(
            "build",
            "What runs",
            Info::new([("version", env!("CARGO_PKG_VERSION"))]),
        );
        registry
    }

    /// Ends registration.
    pub(crate) fn new(registry: Registry) -> Self {
        Self(registry)
    }

    /// Writes the numbers as they stand now.
    pub(crate) fn encode(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        text::encode(&mut text, &self.0)?;
        Ok(text)
    }
}
