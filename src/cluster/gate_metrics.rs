//! The metrics of the gate.

use poolgate_core::karpenter::NodeLimitMode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use crate::telemetry::Registry;

/// The metrics of the gate.
#[derive(Debug, Clone, Default)]
pub(crate) struct GateMetrics {
    decisions: Family<DecisionLabels, Counter>,
    errors: Family<ErrorLabel, Counter>,
    reads: Family<ReadLabel, Counter>,
    writes: Family<WriteLabel, Counter>,
    releases: Counter,
    expired: Family<PoolLabel, Counter>,
    reservations: Family<PoolLabel, Gauge>,
    unreadable: Counter,
    stale: Counter,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DecisionLabels {
    decision: &'static str,
    mode: &'static str,
    dry_run: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ErrorLabel {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReadLabel {
    resource: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WriteLabel {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PoolLabel {
    nodepool: Box<str>,
}

impl GateMetrics {
    /// Registers the metrics.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        Self {
            decisions: registry.metric("gate_decisions", "Creations of NodeClaims by what the gate decided and the mode of the limit; none where there is no limit"),
            errors: registry.metric("gate_errors", "Creations of NodeClaims that could not be decided; /gate admitted them, /gate/strict denied them"),
            reads: registry.metric("gate_reads", "Reads from the API server for decisions that the watches could not answer"),
            writes: registry.metric("gate_ledger_writes", "Writes of ledgers by result"),
            releases: registry.metric("gate_reservations_cancelled", "Reservations that were cancelled because their answer could not be sent"),
            expired: registry.metric("gate_reservations_expired", "Reservations of a pool that expired unused: creations that were admitted and then failed, or forged requests"),
            reservations: registry.metric("gate_reservations", "Reservations of a pool: admitted NodeClaims that are not in view yet"),
            stale: registry.metric("gate_stale_denials", "Denials at the limit by a count that was older than the request, because the NodeClaims took too long to list"),
            unreadable: registry.metric("gate_ledger_unreadable", "Unreadable ledgers. Those that this release may replace are replaced"),
        }
    }

    pub(crate) fn decided(&self, decision: &'static str, mode: Option<NodeLimitMode>, dry_run: bool) {
        let labels = DecisionLabels {
            decision,
            mode: mode.map_or("none", NodeLimitMode::as_str),
            dry_run: if dry_run { "true" } else { "false" },
        };
        self.decisions.get_or_create(&labels).inc();
    }

    pub(crate) fn failed(&self, reason: &'static str) {
        self.errors.get_or_create(&ErrorLabel { reason }).inc();
    }

    pub(crate) fn read(&self, resource: &'static str) {
        self.reads.get_or_create(&ReadLabel { resource }).inc();
    }

    pub(crate) fn wrote(&self, outcome: &'static str) {
        self.writes.get_or_create(&WriteLabel { outcome }).inc();
    }

    pub(crate) fn released(&self, count: usize) {
        self.releases.inc_by(count as u64);
    }

    pub(crate) fn expired(&self, pool: &str, count: usize) {
        if count > 0 {
            let label = PoolLabel {
                nodepool: pool.into(),
            };
            self.expired.get_or_create(&label).inc_by(count as u64);
        }
    }

    pub(crate) fn reservations(&self, pool: &str, count: usize) {
        let label = PoolLabel {
            nodepool: pool.into(),
        };
        self.reservations
            .get_or_create(&label)
            .set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    pub(crate) fn no_reservations(&self, pool: &str) {
        let label = PoolLabel {
            nodepool: pool.into(),
        };
        self.reservations.remove(&label);
        self.expired.remove(&label);
    }

    pub(crate) fn stale(&self) {
        self.stale.inc();
    }

    pub(crate) fn unreadable_ledger(&self) {
        self.unreadable.inc();
    }
}
