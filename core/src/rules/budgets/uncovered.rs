//! Reasons for which there is no budget, so that nothing limits disruption.

use super::list;
use crate::budget::{Budgets, Notation, Reason, Reasons};
use crate::diagnostic::ErrorType;
use crate::karpenter::NodePool;
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static BUDGET_UNCOVERED_REASON: Rule = rule!("budget-uncovered-reason", Warning, [Silent], Shown);

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
    let reason = format!(
        "no budget covers {}, which may then disrupt all nodes of the pool at once",
        uncovered.names(" or ")
    );
    // One without reasons would also apply beside the others.
    let notation = Notation::of(pool.version, findings.context.release);
    let budget = notation.budget("10%", uncovered, None);
    findings
        .report(
            &BUDGET_UNCOVERED_REASON,
            list::path(),
            ErrorType::showing("[…]"),
            reason,
        )
        .suggest(format!("add one, such as {budget}"));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::testing::warnings;

    fn pool(budgets: &Value) -> Value {
        json!({"spec": {"disruption": {"budgets": budgets}}})
    }

    #[test]
    fn a_reason_without_a_budget_gets_a_warning_unless_it_does_not_happen() {
        let empty_only = json!([{"nodes": "1", "reasons": ["Empty"]}]);
        let warned = warnings(&pool(&empty_only));
        assert!(
            warned[0].contains("no budget covers Underutilized or Drifted, which"),
            "{warned:?}"
        );
        let mut when_empty = pool(&json!([{"nodes": "1", "reasons": ["Empty", "Drifted"]}]));
        assert_eq!(warnings(&when_empty).len(), 1);
        when_empty["spec"]["disruption"]["consolidationPolicy"] = json!("WhenEmpty");
        assert_eq!(warnings(&when_empty), [""; 0]);
        let all_but_empty = json!([{"nodes": "1", "reasons": ["Underutilized", "Drifted"]}]);
        assert_eq!(warnings(&pool(&all_but_empty)), [""; 0]);
    }
}
