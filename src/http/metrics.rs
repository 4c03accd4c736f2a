//! The metrics of the sockets.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use super::pace::TimeoutKind;
use crate::telemetry::Registry;

/// What all servers of the process count together.
#[derive(Debug, Clone, Default)]
pub(crate) struct HttpMetrics {
    connections: Family<ServerLabel, Gauge>,
    accept_errors: Family<ServerLabel, Counter>,
    handshake_failures: Family<ReasonLabel, Counter>,
    denied: Family<ReasonLabel, Counter>,
    overdue: Family<OverdueLabel, Counter>,
    displaced: Family<ServerLabel, Counter>,
    refused: Family<ServerLabel, Counter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ServerLabel {
    server: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabel {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OverdueLabel {
    server: &'static str,
    waiting_for: &'static str,
}

/// Counts one connection as open until it is dropped.
#[derive(Debug)]
pub(super) struct OpenConnection(Gauge);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl HttpMetrics {
    /// Registers the metrics.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        Self {
            connections: registry.metric("connections", "Connections that are open"),
            accept_errors: registry.metric("accept_errors", "Connections that could not be accepted"),
            handshake_failures: registry.metric("handshake_failures", "TLS handshakes that failed"),
            denied: registry.metric(
                "clients_denied",
                "Connections whose client showed no accepted certificate",
            ),
            overdue: registry.metric(
                "connection_timeouts",
                "Connections closed because the client took too long",
            ),
            displaced: registry.metric(
                "connections_displaced",
                "Connections closed, the longest idle one first, because too many were open",
            ),
            refused: registry.metric(
                "connections_refused",
                "New connections closed at once because too many had a request in work",
            ),
        }
    }

    pub(super) fn open(&self, server: &'static str) -> OpenConnection {
        let connections = self.connections.get_or_create_owned(&ServerLabel { server });
        connections.inc();
        OpenConnection(connections)
    }

    pub(super) fn accept_failed(&self, server: &'static str) {
        self.accept_errors.get_or_create(&ServerLabel { server }).inc();
    }

    pub(super) fn handshake_failed(&self, reason: &'static str) {
        self.handshake_failures
            .get_or_create(&ReasonLabel { reason })
            .inc();
    }

    pub(super) fn denied(&self, reason: &'static str) {
        self.denied.get_or_create(&ReasonLabel { reason }).inc();
    }

    pub(super) fn displaced(&self, server: &'static str) {
        self.displaced.get_or_create(&ServerLabel { server }).inc();
    }

    pub(super) fn refused(&self, server: &'static str) {
        self.refused.get_or_create(&ServerLabel { server }).inc();
    }

    pub(super) fn overdue(&self, server: &'static str, overdue: TimeoutKind) {
        self.overdue
            .get_or_create(&OverdueLabel {
                server,
                waiting_for: overdue.name(),
            })
            .inc();
    }
}
