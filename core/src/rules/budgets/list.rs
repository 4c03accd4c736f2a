//! The list of budgets as a whole: how many there are, and whether one always blocks drift.

use crate::budget::{Budgets, ParsedBudget, Reason};
use crate::diagnostic::{ErrorType, FieldPath};
use crate::karpenter::shape::MOST_BUDGETS;
use crate::karpenter::{Budget, Disruption, NodePool};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static BUDGETS_COUNT: Rule = rule!("budgets-count", Error, [Schema]);
pub static BUDGETS_EMPTY: Rule = rule!("budgets-empty", Warning, [Silent], Shown);
pub static BUDGET_BLOCKS_DRIFT: Rule = rule!("budget-blocks-drift", Info, [Silent], Shown);

/// Returns whether the list has a legal length.
pub fn check(budgets: &[Budget<'_>], findings: &mut Findings<'_>) -> bool {
    if budgets.is_empty() {
        findings
            .report(
                &BUDGETS_EMPTY,
                path(),
                ErrorType::showing("[]"),
                "without a budget nothing limits disruption, so all nodes may be disrupted at once",
            )
            .suggest("leave it out for the default of 10%, or write nodes: 100% for no limit");
    }
    budgets.len() <= MOST_BUDGETS
}

/// Reports the first budget that always blocks drift, or several that do so together.
pub fn check_blocked(
    pool: &NodePool<'_>,
    all: &[ParsedBudget<'_>],
    readable: &[&ParsedBudget<'_>],
    findings: &mut Findings<'_>,
) {
    let mut blocking = readable
        .iter()
        .filter(|budget| budget.is_zero() && budget.has(Reason::Drifted));
    let Some(blocking) = blocking.clone().find(|budget| budget.has_no_window()) else {
        // Another rule reports a schedule that makes one of them active at all times.
        if blocking.clone().count() > 1 && !blocking.any(|budget| budget.is_always_active()) {
            check_blocked_together(pool, all, findings);
        }
        return;
    };
    let text = blocking.view.nodes.present().unwrap_or_default();
    findings
        .report(
            &BUDGET_BLOCKS_DRIFT,
            blocking.view.path("nodes"),
            ErrorType::note(&text.into()),
            "drifted nodes are never replaced, so no new image or fix reaches them before they expire",
        )
        .suggest("write 1 to replace them one by one, or add the schedule of a freeze");
}

/// Reports budgets whose windows leave no minute of the week.
fn check_blocked_together(pool: &NodePool<'_>, budgets: &[ParsedBudget<'_>], findings: &mut Findings<'_>) {
    let budgets = Budgets::of_parsed(pool, budgets);
    if !budgets.is_ok_and(|budgets| budgets.never_allows(Reason::Drifted)) {
        return;
    }
    let shown = ErrorType::Note {
        value: "[…]".into()
    };
    let reason = "the budgets of 0 nodes together cover the whole week, so drifted nodes are never replaced, and no new image or \
                  fix reaches them before they expire";
    findings
        .report(&BUDGET_BLOCKS_DRIFT, path(), shown, reason)
        .suggest("leave some hours open");
}

pub fn path() -> FieldPath {
    Disruption::path("budgets")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::testing::{errors, infos, warnings};

    fn budgets(budgets: &Value) -> Value {
        json!({"spec": {"disruption": {"budgets": budgets}}})
    }

    #[test]
    fn more_than_fifty_budgets_are_denied() {
        let list = |count: usize| budgets(&Value::Array(vec![json!({"nodes": "10%"}); count]));
        assert_eq!(errors(&list(50)), [""; 0]);
        assert_eq!(
            errors(&list(51)),
            [
                "spec.disruption.budgets: Too many: 51: must have at most 50 items; \
             combine windows of the same kind into one schedule, such as 0 9 * * mon-fri [budgets-count]"
            ]
        );
    }

    #[test]
    fn an_empty_list_gets_a_warning_but_not_a_missing_one() {
        assert!(warnings(&budgets(&json!([])))[0].ends_with("[budgets-empty]"));
        for fine in [json!(null), json!([{}])] {
            assert_eq!(warnings(&budgets(&fine)), [""; 0]);
        }
    }

    #[test]
    fn only_a_budget_that_always_blocks_drift_is_reported() {
        let noted = |budget: Value| !infos(&budgets(&json!([{"nodes": "5"}, budget]))).is_empty();
        assert!(noted(json!({"nodes": "0"})));
        assert!(noted(json!({"nodes": "0%", "reasons": ["Drifted"]})));
        assert!(!noted(
            json!({"nodes": "0", "reasons": ["Empty", "Underutilized"]})
        ));
        assert!(!noted(
            json!({"nodes": "0", "schedule": "@daily", "duration": "8h"})
        ));
        assert!(!noted(json!({"nodes": "1%"})));
    }

    #[test]
    fn budgets_that_block_drift_all_week_together_are_reported_once() {
        let noted = |first: Value, second: Value| infos(&budgets(&json!([{"nodes": "5"}, first, second])));
        let zero = |schedule: &str, duration: &str| json!({"nodes": "0", "schedule": schedule, "duration": duration});
        let infos = noted(zero("0 0 * * mon-fri", "24h"), zero("0 0 * * sat,sun", "24h"));
        assert_eq!(
            infos,
            [
                "spec.disruption.budgets: […]: the budgets of 0 nodes together cover the whole week, so drifted nodes are never \
                 replaced, and no new image or fix reaches them before they expire; leave some hours open \
                 [budget-blocks-drift]"
            ]
        );
        assert_eq!(
            noted(zero("0 0 * * mon-fri", "24h"), zero("0 0 * * sat", "24h")),
            [""; 0]
        );
        assert_eq!(noted(zero("0 0 * * *", "12h"), json!({"nodes": "0"})).len(), 1);
    }
}
