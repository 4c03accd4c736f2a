//! The numbers of the reconciler, named after Karpenter's (`karpenter_nodepools_…`) and controller-runtime's.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use poolgate_core::budget::Reason;
use poolgate_core::karpenter::NodeLimitMode;
use poolgate_core::nodelimit::plan::Numbers;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};

use crate::telemetry::Registry;

/// What Karpenter's own metric shows where nothing limits disruption.
const UNLIMITED: i64 = i32::MAX as i64;

/// What is counted of the reconciler.
#[derive(Debug, Clone)]
pub(super) struct ReconcileMetrics {
    nodes: Family<PoolLabel, Gauge>,
    limit: Family<PoolLabel, Gauge>,
    remaining: Family<PoolLabel, Gauge>,
    excess: Family<PoolLabel, Gauge>,
    held: Family<PoolLabel, Gauge>,
    mode: Family<ModeLabels, Gauge>,
    allowed: Family<ReasonLabels, Gauge>,
    terminated: Family<TerminationLabels, Counter>,
    writes: Family<WriteLabels, Counter>,
    reconciles: Family<ResultLabel, Counter>,
    errors: Counter,
    time: Histogram,
    leader: Gauge,
    queue: Gauge,
    marked: Gauge,
    /// The pools of which something is shown.
    shown: Arc<Mutex<HashSet<Arc<str>>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PoolLabel {
    nodepool: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ModeLabels {
    nodepool: String,
    mode: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    nodepool: String,
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TerminationLabels {
    nodepool: String,
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WriteLabels {
    write: &'static str,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabel {
    result: &'static str,
}

/// What is written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Write {
    /// Marks on a node.
    Hold,
    /// The end of marks.
    Release,
    /// An event.
    Event,
    /// The victims in a ledger.
    Victims,
    /// The end of a claim.
    Terminate,
}

impl Write {
    /// Its name in metrics and logs.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Release => "release",
            Self::Event => "event",
            Self::Victims => "victims",
            Self::Terminate => "terminate",
        }
    }
}

/// What came of a write.
#[derive(Debug, Clone, Copy)]
pub(super) enum Outcome {
    /// It was done.
    Done,
    /// What was to be written to is gone, or another one by now.
    Moot,
    /// It was not done, and is tried again.
    Failed,
}

impl ReconcileMetrics {
    /// Registers the numbers.
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            nodes: Family::default(),
            limit: Family::default(),
            remaining: Family::default(),
            excess: Family::default(),
            held: Family::default(),
            mode: Family::default(),
            allowed: Family::default(),
            terminated: Family::default(),
            writes: Family::default(),
            reconciles: Family::default(),
            errors: Counter::default(),
            time: Histogram::new(exponential_buckets(0.0005, 2.0, 16)),
            leader: Gauge::default(),
            queue: Gauge::default(),
            marked: Gauge::default(),
            shown: Arc::default(),
        };
        metrics.register_pools(registry);
        metrics.register_work(registry);
        metrics
    }

    fn register_pools(&self, registry: &mut Registry) {
        let gauges = [
            (
                "nodepools_nodes",
                "NodeClaims that count against the node limit, by NodePool",
                &self.nodes,
            ),
            ("nodepools_limit", "The node limit (limits.nodes)", &self.limit),
            (
                "nodepools_remaining",
                "How many more nodes there may be",
                &self.remaining,
            ),
            (
                "nodepools_excess_nodes",
                "Nodes above the limit that are not on their way out",
                &self.excess,
            ),
            (
                "nodepools_held_nodes",
                "Nodes that poolgate keeps from disruption",
                &self.held,
            ),
        ];
        for (name, help, gauge) in gauges {
            registry.register(name, help, gauge.clone());
        }
        registry.register(
            "nodepools_mode",
            "1 for the mode of the node limit, Hard or Soft",
            self.mode.clone(),
        );
        registry.register(
            "nodepools_allowed_disruptions",
            "How many nodes may be disrupted at once, by reason: budgets and node limit together",
            self.allowed.clone(),
        );
        registry.register(
            "nodeclaims_terminated",
            "NodeClaims that poolgate has deleted",
            self.terminated.clone(),
        );
    }

    fn register_work(&self, registry: &mut Registry) {
        registry.register(
            "writes",
            "Writes to the cluster, by what came of them",
            self.writes.clone(),
        );
        registry.register(
            "reconcile",
            "NodePools looked at, by what came of it",
            self.reconciles.clone(),
        );
        registry.register(
            "reconcile_errors",
            "How often what is to be done about a NodePool failed",
            self.errors.clone(),
        );
        registry.register(
            "reconcile_time_seconds",
            "How long it took to look at a NodePool and do what is to be done",
            self.time.clone(),
        );
        registry.register("leader", "1 while this replica leads", self.leader.clone());
        registry.register(
            "queue_depth",
            "NodePools that wait to be looked at",
            self.queue.clone(),
        );
        registry.register(
            "marked_nodes",
            "Nodes that carry marks of poolgate's",
            self.marked.clone(),
        );
    }

    /// Shows the numbers of a pool; those of one without a limit vanish.
    pub(super) fn show(&self, pool: &Arc<str>, numbers: &Numbers) {
        let Some(limit) = numbers.limit else {
            return self.forget(pool);
        };
        let label = PoolLabel {
            nodepool: (**pool).into(),
        };
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.insert(Arc::clone(pool));
        self.nodes.get_or_create(&label).set(numbers.nodes.into());
        self.limit.get_or_create(&label).set(limit.into());
        self.remaining
            .get_or_create(&label)
            .set(numbers.remaining.unwrap_or_default().into());
        self.excess.get_or_create(&label).set(numbers.excess.into());
        self.held.get_or_create(&label).set(numbers.held.into());
        for mode in [NodeLimitMode::Hard, NodeLimitMode::Soft] {
            let labels = mode_labels(pool, mode);
            self.mode
                .get_or_create(&labels)
                .set((numbers.mode == Some(mode)).into());
        }
        for (reason, allowed) in numbers.allowed {
            let labels = reason_labels(pool, reason);
            self.allowed
                .get_or_create(&labels)
                .set(allowed.map_or(UNLIMITED, Into::into));
        }
    }

    /// Shows nothing of a pool any more.
    pub(super) fn forget(&self, pool: &str) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if !shown.remove(pool) {
            return;
        }
        let label = PoolLabel {
            nodepool: pool.into(),
        };
        for gauge in [
            &self.nodes,
            &self.limit,
            &self.remaining,
            &self.excess,
            &self.held,
        ] {
            gauge.remove(&label);
        }
        for mode in [NodeLimitMode::Hard, NodeLimitMode::Soft] {
            self.mode.remove(&mode_labels(pool, mode));
        }
        for reason in Reason::ALL {
            self.allowed.remove(&reason_labels(pool, reason));
        }
    }

    /// Shows nothing of any pool: another replica leads.
    pub(super) fn forget_all(&self) {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for pool in shown {
            self.forget(&pool);
        }
    }

    /// A claim was deleted.
    pub(super) fn terminated(&self, pool: &str) {
        let labels = TerminationLabels {
            nodepool: pool.into(),
            reason: "over_limit",
        };
        self.terminated.get_or_create(&labels).inc();
    }

    pub(super) fn written(&self, write: Write, outcome: Outcome) {
        let result = match outcome {
            Outcome::Done => "success",
            Outcome::Moot => "moot",
            Outcome::Failed => "error",
        };
        let labels = WriteLabels {
            write: write.as_str(),
            result,
        };
        self.writes.get_or_create(&labels).inc();
    }

    /// A pool was looked at.
    pub(super) fn reconciled(&self, took: Duration, success: bool) {
        let result = if success { "success" } else { "error" };
        self.reconciles.get_or_create(&ResultLabel { result }).inc();
        if !success {
            self.errors.inc();
        }
        self.time.observe(took.as_secs_f64());
    }

    pub(super) fn leading(&self, leading: bool) {
        self.leader.set(leading.into());
    }

    pub(super) fn waiting(&self, pools: usize, marked: usize) {
        self.queue.set(i64::try_from(pools).unwrap_or(i64::MAX));
        self.marked.set(i64::try_from(marked).unwrap_or(i64::MAX));
    }
}

fn mode_labels(pool: &str, mode: NodeLimitMode) -> ModeLabels {
    ModeLabels {
        nodepool: pool.into(),
        mode: mode.as_str(),
    }
}

fn reason_labels(pool: &str, reason: Reason) -> ReasonLabels {
    ReasonLabels {
        nodepool: pool.into(),
        reason: reason.as_str(),
    }
}
