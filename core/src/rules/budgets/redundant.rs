//! Budgets that never count, because a lower one always holds.

use crate::budget::{ParsedBudget, Reason, Reasons};
use crate::karpenter::KarpenterVersion;
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;
use crate::value::nodes::BudgetNodes;

pub static BUDGET_REDUNDANT: Rule = rule!("budget-redundant", Warning, [Silent], Shown);

pub fn check(budgets: &[&ParsedBudget<'_>], findings: &mut Findings<'_>) {
    let known = if findings.context.release.has(KarpenterVersion::UNHEALTHY) {
        Reasons::ALL
    } else {
        Reasons::ALL.without(Reasons::only(Reason::Unhealthy))
    };
    for budget in budgets {
        if let Some(lower) = lower_for_all_reasons(budget, budgets, known) {
            report(budget, lower, findings);
        }
    }
}

/// The first budget that makes this one pointless, if there is one for each of its reasons.
fn lower_for_all_reasons<'r>(
    of: &ParsedBudget<'_>,
    budgets: &'r [&'r ParsedBudget<'r>],
    known: Reasons,
) -> Option<&'r ParsedBudget<'r>> {
    let mut first = None;
    for reason in of.reasons().and(known).iter() {
        let lower = budgets
            .iter()
            .copied()
            .find(|other| other.has(reason) && overrules(other, of))?;
        first = first.or(Some(lower));
    }
    first
}

/// Whether the first budget is never above the second and always holds. Of two equal budgets, the earlier one
/// overrules the later.
fn overrules(one: &ParsedBudget<'_>, other: &ParsedBudget<'_>) -> bool {
    let (Some(lower), Some(higher)) = (one.nodes(), other.nodes()) else {
        return false;
    };
    let equal = other.is_always_active() && never_above(higher, lower);
    one.is_always_active()
        && never_above(lower, higher)
        && one.view.index != other.view.index
        && (!equal || one.view.index < other.view.index)
}

/// Whether the first number never allows more nodes than the second, whatever the size of the pool. A percentage
/// is rounded up, so every percentage except 0% is at least one node.
fn never_above(one: BudgetNodes, other: BudgetNodes) -> bool {
    use BudgetNodes::{Count, Percent};
    match (one, other) {
        _ if one.is_zero() => true,
        (_, Percent(100)) => true,
        (Percent(one), Percent(other)) => one <= other,
        (Count(one), Count(other)) => one <= other,
        (Count(1), Percent(other)) => other > 0,
        (Count(_), Percent(_)) | (Percent(_), Count(_)) => false,
    }
}

fn report(budget: &ParsedBudget<'_>, lower: &ParsedBudget<'_>, findings: &mut Findings<'_>) {
    let text = budget.view.nodes.present().unwrap_or("10%");
    let allowed = lower.view.nodes.present().unwrap_or("10%");
    let index = lower.view.index;
    let reason = format!(
        "the lowest budget counts, and budgets[{index}] always allows {allowed}, so this one never does"
    );
    let suggestion = if lower.is_zero() {
        format!("give budgets[{index}] the schedule of the hours in which no node may be disrupted")
    } else {
        "remove it, or write a lower number".to_owned()
    };
    findings
        .report(&BUDGET_REDUNDANT, budget.view.path("nodes"), text, reason)
        .suggest(suggestion)
        .related(lower.view.path("nodes"));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::json::Json;
    use crate::karpenter::ApiVersion;
    use crate::policy::Policy;
    use crate::review::{Request, Subject, review};
    use crate::rules::testing::warnings;

    /// The indexes of the budgets that never count.
    fn moot(budgets: &Value) -> Vec<String> {
        let mut warned = warnings(&json!({"spec": {"disruption": {"budgets": budgets}}}));
        warned.retain(|warning| warning.ends_with("[budget-redundant]"));
        warned
            .iter()
            .filter_map(|warning| {
                Some(
                    warning
                        .split_once(".nodes: ")?
                        .0
                        .replace("spec.disruption.budgets", ""),
                )
            })
            .collect()
    }

    #[test]
    fn a_lower_budget_that_always_holds_overrules() {
        let night = |nodes: &str| json!({"nodes": nodes, "schedule": "0 22 * * *", "duration": "6h"});
        for (budgets, moot_ones) in [
            (json!([{"nodes": "0"}, night("10%")]), vec!["[1]"]),
            (json!([night("10%"), {"nodes": "0"}]), vec!["[0]"]),
            (json!([{"nodes": "5%"}, {"nodes": "10%"}]), vec!["[1]"]),
            (json!([{"nodes": "10"}, {"nodes": "5"}]), vec!["[0]"]),
            (json!([{"nodes": "1"}, {"nodes": "10%"}]), vec!["[1]"]),
            (json!([{}, {"nodes": "10%"}, night("10%")]), vec!["[1]", "[2]"]),
            (
                json!([{"nodes": "20%"}, {"nodes": "100%", "reasons": ["Empty"]}]),
                vec!["[1]"],
            ),
            (
                json!([
                    {"nodes": "1", "reasons": ["Empty"]}, {"nodes": "1", "reasons": ["Drifted"]},
                    {"nodes": "2", "reasons": ["Empty", "Drifted"]},
                ]),
                vec!["[2]"],
            ),
        ] {
            assert_eq!(moot(&budgets), moot_ones, "{budgets}");
        }
    }

    #[test]
    fn budgets_that_count_at_some_time_or_size_pass() {
        let night = |nodes: &str| json!({"nodes": nodes, "schedule": "0 22 * * *", "duration": "6h"});
        for budgets in [
            json!([{"nodes": "1"}, night("0")]),
            json!([{"nodes": "20%"}, {"nodes": "5"}]),
            json!([{"nodes": "2"}, {"nodes": "10%"}]),
            json!([night("0"), night("5")]),
            json!([{"nodes": "0", "reasons": ["Drifted"]}, {"nodes": "10%"}]),
            json!([{"nodes": "1", "reasons": ["Empty"]}, {"nodes": "2", "reasons": ["Empty", "Drifted"]}]),
            json!([{"nodes": "100%"}]),
        ] {
            assert_eq!(moot(&budgets), [""; 0], "{budgets}");
        }
    }

    #[test]
    fn a_budget_counts_for_unhealthy_nodes_only_where_karpenter_knows_them() {
        let budgets =
            json!([{"nodes": "0", "reasons": ["Underutilized", "Empty", "Drifted"]}, {"nodes": "10%"}]);
        let object = json!({"spec": {"disruption": {"budgets": budgets}}});
        for (release, is_moot) in [
            (KarpenterVersion::new(1, 14, 1), true),
            (KarpenterVersion::UNHEALTHY, false),
        ] {
            let request = Request {
                subject: Subject::NodePool(ApiVersion::V1),
                object: &Json::from(&object),
                old: None,
                claims: None,
                at: jiff::Timestamp::default(),
            };
            let report = review(&request, &Policy::default(), &release.into()).report;
            let mut found = report.into_iter().map(|finding| finding.to_string());
            assert_eq!(found.any(|line| line.ends_with("[budget-redundant]")), is_moot);
        }
    }
}
