//! The numbers of each pool, and of its limit if it has one.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use poolgate_core::api::NodeLimitMode;
use poolgate_core::budget::Reason;
use poolgate_core::nodelimit::plan::{Numbers, RolloutState};
use poolgate_core::nodelimit::why::Blocked;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use crate::runtime::telemetry::{Label, Registry};

/// The value of Karpenter's own metric if nothing limits disruption.
const UNLIMITED: i64 = 2_147_483_647;

/// The modes that are shown.
const MODES: [NodeLimitMode; 2] = [NodeLimitMode::Hard, NodeLimitMode::Soft];

/// The metrics of pools.
#[derive(Debug, Clone, Default)]
pub struct PoolMetrics {
    counted: Family<[Label<String>; 1], Gauge>,
    limit: Family<[Label<String>; 1], Gauge>,
    remaining: Family<[Label<String>; 1], Gauge>,
    excess: Family<[Label<String>; 1], Gauge>,
    held: Family<[Label<String>; 1], Gauge>,
    unrepaired: Family<[Label<String>; 1], Gauge>,
    mode: Family<[Label<String>; 2], Gauge>,
    allowed: Family<[Label<String>; 2], Gauge>,
    rollout: Family<[Label<String>; 2], Gauge>,
    blocked: Family<[Label<String>; 2], Gauge>,
    /// The pools that have metrics.
    shown: Arc<Mutex<BTreeSet<Arc<str>>>>,
}

impl PoolMetrics {
    /// Registers the numbers.
    pub fn register(registry: &mut Registry) -> Self {
        Self {
            counted: registry.metric(
                "nodepool_counted_nodes",
                "NodeClaims that count against the node limit, by NodePool",
            ),
            limit: registry.metric("nodepool_limit", "The node limit (limits.nodes)"),
            remaining: registry.metric("nodepool_remaining", "Nodes that the limit still allows"),
            excess: registry.metric(
                "nodepool_excess_nodes",
                "Nodes above the limit that are not being deleted",
            ),
            held: registry.metric("nodepool_held_nodes", "Nodes that poolgate keeps from disruption"),
            unrepaired: registry.metric(
                "nodepool_unrepaired_nodes",
                "Nodes that Karpenter wants to repair but whose replacement the gate denied",
            ),
            mode: registry.metric("nodepool_mode", "1 for the mode of the node limit, Hard or Soft"),
            allowed: registry.metric(
                "nodepool_allowed_disruptions",
                "Nodes that budgets and node limit allow to be disrupted simultaneously, by reason",
            ),
            rollout: registry.metric(
                "nodepool_nodes",
                "NodeClaims by their state in the rollout of the NodePool's template",
            ),
            blocked: registry.metric(
                "nodepool_blocked_nodes",
                "Nodes that should go and stay, each by one cause",
            ),
            shown: Arc::default(),
        }
    }

    /// Shows the numbers of a pool; those of its limit only if it has one.
    pub fn show(&self, pool: &Arc<str>, numbers: &Numbers) {
        let mut shown = self.shown.lock();
        shown.insert(Arc::clone(pool));
        for (reason, allowed) in numbers.allowed {
            let allowed = allowed.map_or(UNLIMITED, Into::into);
            self.allowed.get_or_create(&of_reason(pool, reason)).set(allowed);
        }
        for (state, nodes) in numbers.rollout {
            self.rollout
                .get_or_create(&of_state(pool, state))
                .set(nodes.into());
        }
        let Some(limit) = numbers.limit else {
            return self.forget_limit(pool);
        };
        for (gauge, number) in [
            (&self.counted, numbers.nodes),
            (&self.limit, limit),
            (&self.remaining, numbers.remaining.unwrap_or_default()),
            (&self.excess, numbers.excess),
            (&self.held, numbers.held),
            (&self.unrepaired, numbers.unrepaired),
        ] {
            gauge.get_or_create(&[pool_label(pool)]).set(number.into());
        }
        for mode in MODES {
            let is_on = numbers.mode == Some(mode);
            self.mode.get_or_create(&of_mode(pool, mode)).set(is_on.into());
        }
    }

    /// Shows how many nodes of a pool are blocked by each cause, if its other numbers are shown.
    pub fn show_blocked(&self, pool: &Arc<str>, causes: &[Blocked]) {
        let shown = self.shown.lock();
        for by in Blocked::ALL.into_iter().filter(|_| shown.contains(pool)) {
            let nodes = causes.iter().filter(|cause| **cause == by).count();
            let gauge = self.blocked.get_or_create(&of_cause(pool, by));
            gauge.set(i64::try_from(nodes).unwrap_or(i64::MAX));
        }
    }

    /// Removes the numbers of blocked nodes of all pools: they are not known.
    pub fn forget_blocked(&self) {
        self.blocked.clear();
    }

    /// Removes the numbers of a pool.
    pub fn forget(&self, pool: &str) {
        let mut shown = self.shown.lock();
        if !shown.remove(pool) {
            return;
        }
        for reason in Reason::ALL {
            self.allowed.remove(&of_reason(pool, reason));
        }
        for state in RolloutState::ALL {
            self.rollout.remove(&of_state(pool, state));
        }
        for by in Blocked::ALL {
            self.blocked.remove(&of_cause(pool, by));
        }
        self.forget_limit(pool);
    }

    fn forget_limit(&self, pool: &str) {
        for gauge in [
            &self.counted,
            &self.limit,
            &self.remaining,
            &self.excess,
            &self.held,
            &self.unrepaired,
        ] {
            gauge.remove(&[pool_label(pool)]);
        }
        for mode in MODES {
            self.mode.remove(&of_mode(pool, mode));
        }
    }

    /// Removes the numbers of all pools: another replica leads.
    pub fn forget_all(&self) {
        let shown = self.shown.lock().clone();
        for pool in shown {
            self.forget(&pool);
        }
    }
}

fn pool_label(pool: &str) -> Label<String> {
    ("nodepool", pool.into())
}

fn of_mode(pool: &str, mode: NodeLimitMode) -> [Label<String>; 2] {
    [pool_label(pool), ("mode", mode.as_str().into())]
}

fn of_reason(pool: &str, reason: Reason) -> [Label<String>; 2] {
    [pool_label(pool), ("reason", reason.as_str().into())]
}

fn of_cause(pool: &str, cause: Blocked) -> [Label<String>; 2] {
    [pool_label(pool), ("cause", cause.as_str().into())]
}

fn of_state(pool: &str, state: RolloutState) -> [Label<String>; 2] {
    [pool_label(pool), ("state", state.as_str().into())]
}
