//! A budget of which every part can be read: the input of the rules that compare budgets.

use crate::budget::{Reason, Reasons, Window};
use crate::karpenter::{Budget, Disruption, NodePool};
use crate::value::nodes::BudgetNodes;

/// A budget that can be read.
#[derive(Debug)]
pub struct ReadBudget<'a> {
    /// The budget as it is in the object.
    pub budget: &'a Budget<'a>,
    /// How many nodes may be disrupted.
    pub nodes: BudgetNodes,
    /// For which reasons.
    pub reasons: Reasons,
    /// When it holds.
    pub window: Window,
}

impl ReadBudget<'_> {
    /// Whether it always holds.
    pub fn is_always_active(&self) -> bool {
        self.window == Window::Always
    }
}

/// The reasons for which nodes with pods on them are replaced: drift, and consolidation if it is on. All empty nodes may be
/// removed at once without harm, and the repair of nodes has a bound of its own.
pub fn replacing(pool: &NodePool<'_>, disruption: &Disruption<'_>) -> Reasons {
    let consolidates = pool.replicas.is_absent()
        && disruption.consolidation_policy.present() != Some("WhenEmpty")
        && disruption.consolidate_after.present() != Some("Never");
    let drift = Reasons::only(Reason::Drifted);
    if consolidates {
        drift.with(Reasons::only(Reason::Underutilized))
    } else {
        drift
    }
}
