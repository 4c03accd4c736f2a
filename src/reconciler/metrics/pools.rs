//! The numbers of each pool with a limit.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use poolgate_core::budget::Reason;
use poolgate_core::karpenter::NodeLimitMode;
use poolgate_core::nodelimit::plan::Numbers;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use crate::telemetry::Registry;

/// What Karpenter's own metric shows if nothing limits disruption.
const UNLIMITED: i64 = 2_147_483_647;

/// The metrics of pools.
#[derive(Debug, Clone, Default)]
pub(in crate::reconciler) struct PoolMetrics {
    nodes: Family<PoolLabel, Gauge>,
    limit: Family<PoolLabel, Gauge>,
    remaining: Family<PoolLabel, Gauge>,
    excess: Family<PoolLabel, Gauge>,
    held: Family<PoolLabel, Gauge>,
    mode: Family<ModeLabels, Gauge>,
    allowed: Family<ReasonLabels, Gauge>,
    /// The pools that have metrics.
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

impl PoolMetrics {
    /// Registers the numbers.
    pub(super) fn register(registry: &mut Registry) -> Self {
        Self {
            nodes: registry.metric(
                "nodepools_nodes",
                "NodeClaims that count against the node limit, by NodePool",
            ),
            limit: registry.metric("nodepools_limit", "The node limit (limits.nodes)"),
            remaining: registry.metric("nodepools_remaining", "How many more nodes there may be"),
            excess: registry.metric(
                "nodepools_excess_nodes",
                "Nodes above the limit that are not being deleted",
            ),
            held: registry.metric(
                "nodepools_held_nodes",
                "Nodes that poolgate keeps from disruption",
            ),
            mode: registry.metric("nodepools_mode", "1 for the mode of the node limit, Hard or Soft"),
            allowed: registry.metric(
                "nodepools_allowed_disruptions",
                "How many nodes may be disrupted at once, by reason: budgets and node limit together",
            ),
            shown: Arc::default(),
        }
    }

    /// Shows the numbers of a pool; those of a pool without a limit are removed.
    pub(in crate::reconciler) fn show(&self, pool: &Arc<str>, numbers: &Numbers) {
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

    /// Removes the numbers of a pool.
    pub(in crate::reconciler) fn forget(&self, pool: &str) {
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

    /// Removes the numbers of all pools: another replica leads.
    pub(in crate::reconciler) fn forget_all(&self) {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for pool in shown {
            self.forget(&pool);
        }
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
