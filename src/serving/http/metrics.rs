//! The metrics of the sockets.

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use crate::runtime::telemetry::{Counters, Label, Registry};

/// The counters of all servers of the process.
#[derive(Debug, Clone, Default)]
pub struct HttpMetrics {
    connections: Family<[Label; 1], Gauge>,
    pub accept_errors: Counters,
    pub handshake_failures: Counters,
    pub denied: Counters,
    pub timeouts: Counters,
    pub refused: Counters,
    pub displaced: Counters,
}

impl HttpMetrics {
    /// Registers the metrics.
    pub fn register(registry: &mut Registry) -> Self {
        Self {
            connections: registry.metric("connections", "Open connections"),
            accept_errors: registry.counters(
                "accept_errors",
                "Connections that could not be accepted",
                "server",
            ),
            handshake_failures: registry.counters("handshake_failures", "Failed TLS handshakes", "reason"),
            denied: registry.counters(
                "clients_denied",
                "Connections without an accepted client certificate",
                "reason",
            ),
            timeouts: registry.counters(
                "connection_timeouts",
                "Connections closed because the client took too long",
                "server",
            ),
            refused: registry.counters(
                "connections_refused",
                "New connections closed immediately because too many were open and none could close",
                "server",
            ),
            displaced: registry.counters(
                "connections_displaced",
                "Connections closed because a new one needed the place",
                "server",
            ),
        }
    }

    pub fn connections(&self, server: &'static str) -> Gauge {
        self.connections.get_or_create_owned(&[("server", server)])
    }
}
