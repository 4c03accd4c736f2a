//! The numbers of the reconciler, named after those of controller-runtime.

mod pools;

use std::time::Duration;

use poolgate_core::nodelimit::ledger::ReplacedFor;
use poolgate_core::nodelimit::plan::ReplacementOutcome;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};

use crate::runtime::telemetry::{Counters, Invariants, Label, Registry};

pub use pools::PoolMetrics;

/// The reconciler's metrics.
#[derive(Debug, Clone)]
pub struct ReconcileMetrics {
    pub pools: PoolMetrics,
    pub invariants: Invariants,
    outdated: Counter,
    terminated: Family<[Label<String>; 2], Counter>,
    replacements: Family<[Label; 2], Counter>,
    writes: Family<[Label; 2], Counter>,
    reconciles: Counters,
    errors: Counter,
    time: Histogram,
    leader: Gauge,
    observing: Gauge,
    queue: Gauge,
    marked: Gauge,
    clock_ahead: Gauge,
    rises_withheld: Counter,
}

impl ReconcileMetrics {
    /// Registers the numbers.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            pools: PoolMetrics::register(registry),
            invariants: Invariants::register(registry),
            outdated: registry.metric(
                "outdated_reads",
                "Reads repeated before a deletion because their result was too old",
            ),
            terminated: registry.metric("nodeclaims_terminated", "NodeClaims that poolgate has deleted"),
            replacements: registry.metric("replacements", "Terminate-first replacements, by outcome"),
            writes: registry.metric("writes", "Writes to the cluster by result"),
            reconciles: registry.counters("reconcile", "Reconciles of NodePools by result", "result"),
            errors: registry.metric("reconcile_errors", "Failed reconciles of NodePools"),
            time: registry.with(
                "reconcile_time_seconds",
                "Duration of a reconcile of a NodePool",
                Histogram::new(exponential_buckets(0.0005, 2.0, 16)),
            ),
            leader: registry.metric("leader", "1 while this replica leads"),
            observing: registry.metric(
                "observing",
                "1 if this replica writes nothing because of --observe",
            ),
            queue: registry.metric("queue_depth", "NodePools waiting to be reconciled"),
            marked: registry.metric("marked_nodes", "Nodes with poolgate's marks"),
            clock_ahead: registry.metric(
                "clock_ahead_seconds",
                "Seconds by which the wall clock is ahead of the API server's",
            ),
            rises_withheld: registry.metric(
                "limit_rises_withheld",
                "Passes that raised no limit by its schedule, because the clock may be wrong",
            ),
        };
        // There from the start: Prometheus takes a counter that begins with 1 for one that has not increased.
        for reason in [ReplacedFor::Unhealthy, ReplacedFor::Drifted] {
            for outcome in ReplacementOutcome::ALL {
                drop(
                    metrics
                        .replacements
                        .get_or_create(&of_replacement(reason, outcome)),
                );
            }
        }
        metrics
    }

    /// A claim was deleted.
    pub fn terminated(&self, pool: &str) {
        let labels = [("nodepool", pool.into()), ("reason", "over_limit".into())];
        self.terminated.get_or_create(&labels).inc();
    }

    /// A read before a deletion was too old.
    pub fn outdated(&self) {
        self.outdated.inc();
    }

    /// A replacement has ended.
    pub fn replaced(&self, reason: ReplacedFor, outcome: ReplacementOutcome) {
        let labels = of_replacement(reason, outcome);
        self.replacements.get_or_create(&labels).inc();
    }

    pub fn written(&self, what: &'static str, result: &'static str) {
        let labels = [("write", what), ("result", result)];
        self.writes.get_or_create(&labels).inc();
    }

    /// A pool was reconciled.
    pub fn reconciled(&self, took: Duration, success: bool) {
        let result = if success { "success" } else { "error" };
        self.reconciles.inc(result);
        if !success {
            self.errors.inc();
        }
        self.time.observe(took.as_secs_f64());
    }

    pub fn observing(&self, observing: bool) {
        self.observing.set(observing.into());
    }

    pub fn leading(&self, leading: bool) {
        self.leader.set(leading.into());
    }

    /// How far the clock is ahead, and whether a schedule raises no limit because of that.
    pub fn timed(&self, ahead: i64, is_rise_withheld: bool) {
        self.clock_ahead.set(ahead);
        self.rises_withheld.inc_by(is_rise_withheld.into());
    }

    pub fn waiting(&self, pools: usize, marked: usize) {
        self.queue.set(i64::try_from(pools).unwrap_or(i64::MAX));
        self.marked.set(i64::try_from(marked).unwrap_or(i64::MAX));
    }
}

const fn of_replacement(reason: ReplacedFor, outcome: ReplacementOutcome) -> [Label; 2] {
    [("reason", reason.as_str()), ("outcome", outcome.as_str())]
}
