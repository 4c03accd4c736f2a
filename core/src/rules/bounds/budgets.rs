//! Bounds on `spec.disruption.budgets`. A pool without budgets gets the policy's default budgets, so it is not
//! checked.

use crate::diagnostic::{Origin, Problem, RuleId, Severity};
use crate::karpenter::{Budget, Disruption};
use crate::policy::BudgetBounds;
use crate::rule::Rule;
use crate::rules::findings::Findings;
use crate::value::nodes::BudgetNodes;

pub const RULES: &[&Rule] = &[&BUDGET_PERCENT, &BUDGET_NODES, &BUDGET_COUNT, &BUDGET_ALWAYS];

static BUDGET_PERCENT: Rule = Rule {
    id: RuleId::new("policy-budget-percent"),
    title: "The percentage of a budget is no larger than the policy allows",
    severity: Some(Severity::Error),
    origins: &[Origin::Poolgate],
    evidence: None,
    why: "A large percentage lets drift or consolidation take much of a pool at once. Set by \
          `bounds.budgets.maxPercent` in the policy.",
    seen_in: &[],
    bad: "\
spec:
  disruption:
    consolidateAfter: 1m
    budgets:
      - nodes: 50%
",
    good: "\
spec:
  disruption:
    consolidateAfter: 1m
    budgets:
      - nodes: 20%
",
};

static BUDGET_NODES: Rule = Rule {
    id: RuleId::new("policy-budget-nodes"),
    title: "The node count of a budget is no larger than the policy allows",
    severity: Some(Severity::Error),
    origins: &[Origin::Poolgate],
    evidence: None,
    why: "A count that is small for a large pool can be every node of a small one. Set by \
          `bounds.budgets.maxNodes` in the policy, for budgets that count nodes; for percentages there is \
          `maxPercent`.",
    seen_in: &[],
    bad: r#"spec:
  disruption:
    consolidateAfter: 1m
    budgets:
      - nodes: "50"
"#,
    good: r#"spec:
  disruption:
    consolidateAfter: 1m
    budgets:
      - nodes: "5"
"#,
};

static BUDGET_COUNT: Rule = Rule {
    id: RuleId::new("policy-budget-count"),
    title: "A pool has no more budgets than the policy allows",
    severity: Some(Severity::Error),
    origins: &[Origin::Poolgate],
    evidence: None,
    why: "The lowest of all budgets that hold at the same time counts. With many budgets it is hard to see \
          which of them holds when. Set by `bounds.budgets.maxBudgets` in the policy.",
    seen_in: &[],
    bad: r#"spec:
  disruption:
    consolidateAfter: 1m
    budgets:
      - nodes: 10%
      - nodes: "5"
      - nodes: "1"
        schedule: 0 9 * * mon-fri
        duration: 8h
"#,
    good: r#"spec:
  disruption:
    consolidateAfter: 1m
    budgets:
      - nodes: 10%
      - nodes: "1"
        schedule: 0 9 * * mon-fri
        duration: 8h
"#,
};

static BUDGET_ALWAYS: Rule = Rule {
    id: RuleId::new("policy-budget-always"),
    title: "One budget always holds, and for every reason",
    severity: Some(Severity::Error),
    origins: &[Origin::Poolgate],
    evidence: None,
    why: "While no budget holds, Karpenter may disrupt all nodes of a pool at once: outside of every window, \
          and for every reason that no budget names. Set by `bounds.budgets.requireAlways` in the policy.",
    seen_in: &[],
    bad: r#"spec:
  disruption:
    consolidateAfter: 1m
    budgets:
      - nodes: "0"
        schedule: 0 9 * * mon-fri
        duration: 8h
"#,
    good: r#"spec:
  disruption:
    consolidateAfter: 1m
    budgets:
      - nodes: 10%
      - nodes: "0"
        schedule: 0 9 * * mon-fri
        duration: 8h
"#,
};

pub fn check(budgets: &[Budget<'_>], bounds: &BudgetBounds, findings: &mut Findings<'_>) {
    for budget in budgets {
        check_nodes(budget, bounds, findings);
    }
    if let Some(most) = bounds.max_budgets.filter(|most| budgets.len() > *most) {
        let problem = Problem::TooMany {
            actual: budgets.len(),
        };
        let reason = format!("the policy allows at most {most} budgets");
        let finding = BUDGET_COUNT.finding(Disruption::path("budgets"), problem, reason);
        findings.push(finding.suggest("remove those that are never the lowest"));
    }
    if bounds.require_always && !budgets.iter().any(holds_always) {
        let reason = "the policy requires one that always holds, and for every reason: while none holds, Karpenter \
                      may disrupt all nodes at once";
        let finding = BUDGET_ALWAYS.finding(Disruption::path("budgets"), Problem::Required, reason);
        findings.push(finding.suggest("add a budget with nodes alone, such as nodes: 10%"));
    }
}

fn holds_always(budget: &Budget<'_>) -> bool {
    budget.schedule.is_absent() && budget.duration.is_absent() && budget.reasons.is_absent()
}

fn check_nodes(budget: &Budget<'_>, bounds: &BudgetBounds, findings: &mut Findings<'_>) {
    let Some(text) = budget.nodes.present() else {
        return;
    };
    let (rule, reason, suggestion) = match (BudgetNodes::parse(text), bounds.max_percent, bounds.max_nodes) {
        (Ok(BudgetNodes::Percent(percent)), Some(most), _) if percent > most => (
            &BUDGET_PERCENT,
            format!("the policy allows at most {most}%"),
            format!("write {most}% or less"),
        ),
        (Ok(BudgetNodes::Count(count)), _, Some(most)) if count > most => (
            &BUDGET_NODES,
            format!("the policy allows at most {most} nodes at once"),
            format!("write \"{most}\" or less"),
        ),
        _ => return,
    };
    let finding = rule.finding(budget.path("nodes"), text, reason);
    findings.push(finding.suggest(suggestion));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::Bounds;
    use crate::rules::bounds::testing::{errors, with_budgets};

    fn bounds(budgets: BudgetBounds) -> Bounds {
        Bounds {
            budgets,
            ..Bounds::default()
        }
    }

    #[test]
    fn percentages_and_counts_have_separate_bounds() {
        let bounds = bounds(BudgetBounds {
            max_percent: Some(20),
            max_nodes: Some(5),
            ..BudgetBounds::default()
        });
        let object =
            with_budgets(&json!([{"nodes": "20%"}, {"nodes": "21%"}, {"nodes": "5"}, {"nodes": "6"}]));
        assert_eq!(
            errors(bounds, &object),
            [
                r#"spec.disruption.budgets[1].nodes: Invalid value: "21%": the policy allows at most 20%; write 20% or less [policy-budget-percent]"#,
                r#"spec.disruption.budgets[3].nodes: Invalid value: "6": the policy allows at most 5 nodes at once; write "5" or less [policy-budget-nodes]"#,
            ]
        );
    }

    #[test]
    fn a_budget_with_a_window_or_a_reason_does_not_always_hold() {
        let denied = |budgets: serde_json::Value| {
            let bounds = bounds(BudgetBounds {
                require_always: true,
                ..BudgetBounds::default()
            });
            !errors(bounds, &with_budgets(&budgets)).is_empty()
        };
        assert!(denied(json!([])));
        assert!(denied(json!([{"nodes": "1", "reasons": ["Drifted"]}])));
        assert!(denied(
            json!([{"nodes": "1", "schedule": "@daily", "duration": "1h"}])
        ));
        assert!(!denied(
            json!([{"nodes": "0", "reasons": ["Drifted"]}, {"nodes": "10%"}])
        ));
        assert!(!denied(json!(null)), "the default is written");
    }
}
