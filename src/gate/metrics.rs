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
            decisions: registry.metric("gate_decisions", "NodeClaim creations by decision and mode of the limit; the mode is none without a limit"),
            errors: registry.counters("gate_errors", "NodeClaim creations without a decision; /gate fails open, /gate/strict fails closed", "reason"),
            reads: registry.counters("gate_reads", "API server reads for decisions that the watches alone could not support", "resource"),
            ledgers: LedgerMetrics::register(registry),
            invariants: Invariants::register(registry),
            releases: registry.metric("gate_reservations_cancelled", "Reservations cancelled because their answer could not be sent"),
            stale: registry.metric("gate_stale_denials", "Denials at the limit based on a count older than the request, because listing NodeClaims took too long"),
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
