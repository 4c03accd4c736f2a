//! The metrics of ledgers.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use crate::runtime::telemetry::{Counters, Label, Registry};

/// The label that names a pool.
type OfPool = [Label<Box<str>>; 1];

/// The content of ledgers, and the writes to them.
#[derive(Debug, Clone, Default)]
pub struct LedgerMetrics {
    pub writes: Counters,
    expired: Family<OfPool, Counter>,
    surged: Family<OfPool, Counter>,
    reservations: Family<OfPool, Gauge>,
    unreadable: Counter,
}

impl LedgerMetrics {
    /// Registers the metrics.
    pub fn register(registry: &mut Registry) -> Self {
        Self {
            writes: registry.counters("gate_ledger_writes", "Ledger writes by result", "outcome"),
            expired: registry.metric(
                "gate_reservations_expired",
                "Reservations that expired unused, after failed creations or forged requests, by NodePool",
            ),
            surged: registry.metric(
                "gate_surged",
                "NodeClaims admitted above the limit by the NodePool's surge",
            ),
            reservations: registry.metric(
                "gate_reservations",
                "Admitted NodeClaims that the watch does not show yet, by NodePool",
            ),
            unreadable: registry.metric(
                "gate_ledger_unreadable",
                "Ledgers that could not be parsed; rebuilt unless written by a newer release",
            ),
        }
    }

    pub fn expired(&self, pool: &str, count: usize) {
        if count > 0 {
            self.expired.get_or_create(&labels(pool)).inc_by(count as u64);
        }
    }

    pub fn surged(&self, pool: &str, count: usize) {
        if count > 0 {
            self.surged.get_or_create(&labels(pool)).inc_by(count as u64);
        }
    }

    pub fn reservations(&self, pool: &str, count: usize) {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.reservations.get_or_create(&labels(pool)).set(count);
    }

    /// The pool has no ledger any more.
    pub fn gone(&self, pool: &str) {
        self.reservations.remove(&labels(pool));
        self.expired.remove(&labels(pool));
        self.surged.remove(&labels(pool));
    }

    pub fn unreadable(&self) {
        self.unreadable.inc();
    }
}

fn labels(pool: &str) -> OfPool {
    [("nodepool", pool.into())]
}
