//! How many nodes may be disrupted simultaneously, and which budget limits them.

use jiff::Timestamp;

use super::list::{Budget, Budgets};
use super::reasons::Reason;
use super::timing::Timing;
use crate::value::nodes::BudgetNodes;

/// How many nodes of a pool may be disrupted for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowance {
    /// All: no budget for this reason is active.
    Unlimited,
    /// Up to a number simultaneously.
    Limited {
        /// The most nodes that may be disrupted at a time.
        nodes: u32,
        /// The budget with the lowest number, by its index in the list: the first of several.
        budget: usize,
    },
    /// None: Karpenter cannot read a schedule, and then allows no disruption for any reason, even those the budget
    /// is not for.
    Blocked {
        /// The first budget with a schedule that it cannot read, by its index in the list.
        budget: usize,
    },
}

impl Allowance {
    /// How many nodes may be disrupted simultaneously; `None` if there is no limit.
    pub const fn nodes(self) -> Option<u32> {
        match self {
            Self::Unlimited => None,
            Self::Limited { nodes, .. } => Some(nodes),
            Self::Blocked { .. } => Some(0),
        }
    }

    /// Whether it allows fewer nodes than another one.
    pub(super) fn is_below(self, other: Self) -> bool {
        match (self.nodes(), other.nodes()) {
            (Some(ours), Some(theirs)) => ours < theirs,
            (ours, theirs) => ours.is_some() && theirs.is_none(),
        }
    }
}

impl Budget {
    /// How many of a pool's `nodes` it allows to be disrupted while it is active; `None` if that cannot be read. A percentage
    /// is rounded up.
    // karpenter: pkg/apis/v1/nodepool.go Budget.GetAllowedDisruptions
    // karpenter: pkg/apis/v1/nodepool.go GetIntStrFromValue
    pub fn allows(&self, nodes: u32) -> Option<u32> {
        Some(match self.nodes()? {
            BudgetNodes::Count(count) => u32::try_from(count).unwrap_or(0),
            BudgetNodes::Percent(percent) => {
                let share = (u64::from(percent) * u64::from(nodes)).div_ceil(100);
                u32::try_from(share).unwrap_or(u32::MAX)
            }
        })
    }
}

impl Budgets {
    /// How many of a pool's `nodes` may be disrupted for a reason at an instant, if none is being disrupted
    /// already. Only correct if [`super::is_supported`].
    // karpenter: pkg/apis/v1/nodepool.go NodePool.GetAllowedDisruptionsByReason
    pub fn allowance(&self, reason: Reason, nodes: u32, at: Timestamp) -> Allowance {
        self.allowance_where(reason, nodes, |_, budget| budget.is_active(at))
    }

    /// The most that is ever allowed for a reason, by the budgets that always hold; `None` if none always holds.
    pub(super) fn always_allowed(&self, reason: Reason, nodes: u32) -> Option<u32> {
        let holds_always = |_, budget: &Budget| budget.is_always_active();
        self.allowance_where(reason, nodes, holds_always).nodes()
    }

    /// What [`Self::allowance`] returns, if it is known which budgets are active. The first argument of `is_active`
    /// is the place in [`Budgets::iter`].
    // karpenter: pkg/apis/v1/nodepool.go NodePool.GetAllowedDisruptionsByReason
    // karpenter: pkg/apis/v1/nodepool.go NodePool.MustGetAllowedDisruptions
    pub(super) fn allowance_where(
        &self,
        reason: Reason,
        nodes: u32,
        is_active: impl Fn(usize, &Budget) -> bool,
    ) -> Allowance {
        let is_blocked = |budget: &&Budget| matches!(budget.timing, Timing::Blocked);
        if let Some(blocked) = self.iter().find(is_blocked) {
            return Allowance::Blocked {
                budget: blocked.index,
            };
        }
        let lowest = self
            .iter()
            .enumerate()
            .filter(|(place, budget)| budget.has(reason) && is_active(*place, budget))
            .filter_map(|(_, budget)| Some((budget.allows(nodes)?, budget.index)))
            .min();
        lowest.map_or(Allowance::Unlimited, |(nodes, budget)| Allowance::Limited {
            nodes,
            budget,
        })
    }
}
