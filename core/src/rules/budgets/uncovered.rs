//! Reasons for which there is no budget, so that nothing limits disruption.

use super::list;
use crate::budget::{Budgets, Reason, Reasons, budget_text};
use crate::diagnostic::ErrorType;
use crate::karpenter::NodePool;
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static BUDGET_UNCOVERED_REASON: Rule = rule!("budget-uncovered-reason", Warning, Silent);

/// Reports reasons that no budget covers, of those that replace nodes and happen in the pool. All budgets of the pool must
/// be readable.
pub fn check(pool: &NodePool<'_>, happening: Reasons, budgets: &Budgets, findings: &mut Findings<'_>) {
    let replacing = happening.without(Reasons::only(Reason::Empty));
    let covered = budgets
        .iter()
        .fold(Reasons::NONE, |covered, budget| covered.with(budget.reasons()));
    let uncovered = replacing.without(covered);
    if uncovered == Reasons::NONE {
        return;
    }
    let title = format!("no budget covers {}", uncovered.names(" or "));
    // One without reasons would also apply beside the others.
    let budget = budget_text(pool.version, "10%", uncovered, None);
    findings
        .report(
            &BUDGET_UNCOVERED_REASON,
            list::path(),
            ErrorType::showing("[…]"),
            title,
        )
        .consequence("all nodes of the pool may be disrupted at the same time")
        .suggest(format!("add one, such as {budget}"));
}
