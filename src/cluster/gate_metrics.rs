//! The metrics of the gate.

use poolgate_core::karpenter::NodeLimitMode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use crate::telemetry::{Counters, Label, Registry};

/// The label that names a pool.
type OfPool = [Label<Box<str>>; 1];

/// The metrics of the gate.
#[derive(Debug, Clone, Default)]
pub struct GateMetrics {
    decisions: Family<[Label; 3], Counter>,
    pub errors: Counters,
    pub reads: Counters,
    pub writes: Counters,
    releases: Counter,
    expired: Family<OfPool, Counter>,
    surged: Family<OfPool, Counter>,
    reservations: Family<OfPool, Gauge>,
    unreadable: Counter,
    stale: Counter,
}

impl GateMetrics {
    /// Registers the metrics.
    pub fn register(registry: &mut Registry) -> Self {
        Self {
            decisions: registry.metric("gate_decisions", "Creations of NodeClaims by what the gate decided and the mode of the limit; none where there is no limit"),
            errors: registry.counters("gate_errors", "Creations of NodeClaims that could not be decided; /gate admitted them, /gate/strict denied them", "reason"),
            reads: registry.counters("gate_reads", "Reads from the API server for decisions that the watches could not answer", "resource"),
            writes: registry.counters("gate_ledger_writes", "Writes of ledgers by result", "outcome"),
            releases: registry.metric("gate_reservations_cancelled", "Reservations that were cancelled because their answer could not be sent"),
            expired: registry.metric("gate_reservations_expired", "Reservations of a pool that expired unused: creations that were admitted and then failed, or forged requests"),
            surged: registry.metric("gate_surged", "NodeClaims of a pool that were admitted above its limit, because Karpenter was replacing nodes and the pool has a surge"),
            reservations: registry.metric("gate_reservations", "Reservations of a pool: admitted NodeClaims that are not in view yet"),
            stale: registry.metric("gate_stale_denials", "Denials at the limit by a count that was older than the request, because the NodeClaims took too long to list"),
            unreadable: registry.metric("gate_ledger_unreadable", "Unreadable ledgers. Those that this release may replace are replaced"),
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

    pub fn expired(&self, pool: &str, count: usize) {
        if count > 0 {
            self.expired.get_or_create(&of(pool)).inc_by(count as u64);
        }
    }

    pub fn surged(&self, pool: &str, count: usize) {
        if count > 0 {
            self.surged.get_or_create(&of(pool)).inc_by(count as u64);
        }
    }

    pub fn reservations(&self, pool: &str, count: usize) {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.reservations.get_or_create(&of(pool)).set(count);
    }

    pub fn no_reservations(&self, pool: &str) {
        self.reservations.remove(&of(pool));
        self.expired.remove(&of(pool));
        self.surged.remove(&of(pool));
    }

    pub fn stale(&self) {
        self.stale.inc();
    }

    pub fn unreadable_ledger(&self) {
        self.unreadable.inc();
    }
}

fn of(pool: &str) -> OfPool {
    [("nodepool", pool.into())]
}
