//! The metrics of the gate.

use poolgate_core::api::NodeLimitMode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

use crate::cluster::ledgers::LedgerMetrics;
use crate::runtime::telemetry::{Counters, Invariants, Label, Registry};

/// The metrics of the gate.
#[derive(Debug, Clone, Default)]
pub struct GateMetrics {
    decisions: Family<[Label; 3], Counter>,
    pub errors: Counters,
    pub reads: Counters,
    pub ledgers: LedgerMetrics,
    pub invariants: Invariants,
    releases: Counter,
    stale: Counter,
}

impl GateMetrics {
    /// Registers the metrics.
    pub fn register(registry: &mut Registry) -> Self {
        Self {
            decisions: registry.metric("gate_decisions", "NodeClaim creations by the gate's decision and the limit's mode; none if the pool has no limit"),
            errors: registry.counters("gate_errors", "NodeClaim creations that the gate could not decide: /gate admitted them, /gate/strict denied them", "reason"),
            reads: registry.counters("gate_reads", "Reads from the API server for decisions for which the watches did not suffice", "resource"),
            ledgers: LedgerMetrics::register(registry),
            invariants: Invariants::register(registry),
            releases: registry.metric("gate_reservations_cancelled", "Reservations cancelled because their answer could not be sent"),
            stale: registry.metric("gate_stale_denials", "Denials at the limit by a count older than the request, because listing the NodeClaims took too long"),
        }
    }

    pub fn decided(&self, decision: &'static str, mode: Option<NodeLimitMode>, dry_run: bool) {
        let labels = [
            ("decision", decision),
            ("mode", mode.map_or("none", NodeLimitMode::as_str)),
            ("dry_run", if dry_run { "true" } else { "false" }),
        ];
        self.decisions.get_or_create(&labels).inc();
    }

    pub fn released(&self, count: usize) {
        self.releases.inc_by(count as u64);
    }

    pub fn stale(&self) {
        self.stale.inc();
    }
}
