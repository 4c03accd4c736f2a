//! A budget of which every part can be read: the input of the rules that compare budgets.

use crate::budget::{Reasons, Window};
use crate::karpenter::Budget;
use crate::value::nodes::BudgetNodes;

/// A budget that can be read.
#[derive(Debug)]
pub(super) struct ReadBudget<'a> {
    /// The budget as it is in the object.
    pub(super) budget: &'a Budget<'a>,
    /// How many nodes may be disrupted.
    pub(super) nodes: BudgetNodes,
    /// For which reasons.
    pub(super) reasons: Reasons,
    /// When it holds.
    pub(super) window: Window,
}

impl ReadBudget<'_> {
    /// Whether it always holds.
    pub(super) fn is_always_active(&self) -> bool {
        self.window == Window::Always
    }
}
