//! Budgets that change nothing, because others that allow no more hold whenever they do.

use crate::budget::{Budget, Reason, Reasons, Windows};
use crate::karpenter::KarpenterVersion;
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;
use crate::value::nodes::BudgetNodes;

pub static BUDGET_REDUNDANT: Rule = rule!("budget-redundant", Warning, [Silent], Shown);

pub fn check(budgets: &[&Budget], findings: &mut Findings<'_>) {
    if budgets.len() < 2 {
        return;
    }
    let known = if findings.context.release.has(KarpenterVersion::UNHEALTHY) {
        Reasons::ALL
    } else {
        Reasons::ALL.without(Reasons::only(Reason::Unhealthy))
    };
    // One after the other, so that those that are left never depend on one that goes: of two equal ones the later goes.
    let mut left = budgets.to_vec();
    let mut pointless = Vec::new();
    for budget in budgets.iter().rev() {
        if let Some(lower) = lower_for_all_reasons(budget, &left, known) {
            left.retain(|other| other.index != budget.index);
            pointless.push((budget, lower));
        }
    }
    for (budget, lower) in pointless.iter().rev() {
        let staying = lower_for_all_reasons(budget, &left, known);
        report(budget, staying.as_ref().unwrap_or(lower), findings);
    }
}

/// The budgets that make this one pointless, if there is one for each of its reasons.
fn lower_for_all_reasons<'r>(of: &Budget, budgets: &[&'r Budget], known: Reasons) -> Option<Vec<&'r Budget>> {
    let reasons = of.reasons().and(known);
    // Compared once, whatever the number of reasons.
    let overruling: Vec<_> = budgets
        .iter()
        .copied()
        .filter(|other| other.reasons().has_any(reasons) && overrules(other, of))
        .collect();
    let mut found: Vec<&Budget> = Vec::new();
    for reason in reasons.iter() {
        match overruling.iter().find(|other| other.has(reason)) {
            Some(lower) => found.push(lower),
            None => found.extend(lower_together(of, reason, budgets)?),
        }
    }
    found.sort_unstable_by_key(|lower| lower.index);
    found.dedup_by_key(|lower| lower.index);
    (!found.is_empty()).then_some(found)
}

/// Budgets for a reason that overrule this one together, each in a part of its window.
fn lower_together<'r>(of: &Budget, reason: Reason, budgets: &[&'r Budget]) -> Option<Vec<&'r Budget>> {
    let window = of.windows()?;
    let lower = budgets
        .iter()
        .copied()
        .filter(|other| other.windows().is_some() && other.has(reason) && is_never_above(other, of));
    if lower.clone().count() < 2
        || !Windows::cover_together(lower.clone().filter_map(Budget::windows), window)
    {
        return None;
    }
    let week = window.week()?;
    let does_so_in_part = |other: &&Budget| {
        let windows = other.windows().and_then(Windows::week);
        windows.is_some_and(|open| open.has_any_of(week))
    };
    Some(lower.filter(does_so_in_part).collect())
}

/// Whether the first budget is another one, and never above the second.
fn is_never_above(one: &Budget, other: &Budget) -> bool {
    let numbers = one.nodes().zip(other.nodes());
    one.index != other.index && numbers.is_some_and(|(lower, higher)| never_above(lower, higher))
}

/// Whether the first budget is never above the second, and active whenever that is.
fn overrules(one: &Budget, other: &Budget) -> bool {
    is_never_above(one, other) && holds_whenever(one, other)
}

/// Whether the first budget is active whenever the second is.
fn holds_whenever(one: &Budget, other: &Budget) -> bool {
    match (one.windows(), other.windows()) {
        (Some(windows), Some(others)) => windows.cover(others),
        // Another rule reports a window that makes a budget always active: it may not stay so.
        _ => one.has_no_window(),
    }
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

fn report(budget: &Budget, lower: &[&Budget], findings: &mut Findings<'_>) {
    let text = nodes(budget);
    let index = |lower: &Budget| format!("budgets[{}]", lower.index);
    let (why, suggestion) = match lower {
        [lower] => {
            let name = index(lower);
            let allowed = nodes(lower);
            match (lower.has_no_window(), lower.is_zero()) {
                (true, true) => (
                    format!("{name} always allows {allowed}"),
                    format!("give {name} the schedule of the hours in which no node may be disrupted"),
                ),
                (true, false) => (format!("{name} always allows {allowed}"), REMOVE.to_owned()),
                (false, is_zero) => (
                    format!("{name}, which allows {allowed}, is active whenever this one is"),
                    if is_zero {
                        format!("remove it, or let the window of {name} leave out these hours")
                    } else {
                        REMOVE.to_owned()
                    },
                ),
            }
        }
        several => {
            let names: Vec<String> = several.iter().map(|lower| index(lower)).collect();
            (
                format!(
                    "whenever this one is active, {} allow no more, each for some of its reasons or hours",
                    names.join(" and ")
                ),
                REMOVE.to_owned(),
            )
        }
    };
    let finding = findings
        .report(
            &BUDGET_REDUNDANT,
            budget.path("nodes"),
            text,
            format!("the lowest budget counts, and {why}, so this one changes nothing"),
        )
        .suggest(suggestion);
    for lower in lower {
        finding.related(lower.path("nodes"));
    }
}

/// The number of a budget as it is written, or the default.
fn nodes(budget: &Budget) -> &str {
    let nodes = budget.nodes.as_ref().present();
    nodes.map_or("10%", |nodes| &nodes.text)
}

const REMOVE: &str = "remove it, or write a lower number";

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
    fn a_window_inside_that_of_a_lower_budget_never_counts() {
        let window = |nodes: &str, schedule: &str, duration: &str| json!({"nodes": nodes, "schedule": schedule, "duration": duration});
        let always = json!({"nodes": "100%"});
        let day = window("0", "0 8 * * *", "12h");
        for (budgets, moot_ones) in [
            (
                json!([always, day, window("10%", "0 9 * * mon-fri", "8h")]),
                vec!["[2]"],
            ),
            (
                json!([always, window("0", "0 9 * * mon-fri", "8h"), day]),
                vec!["[1]"],
            ),
            (json!([always, day, day]), vec!["[2]"]),
            (
                json!([
                    always,
                    window("1", "@monthly", "24h"),
                    window("5%", "@monthly", "8h")
                ]),
                vec!["[2]"],
            ),
            (
                json!([
                    always,
                    window("10%", "0 8 * * *", "12h"),
                    window("20%", "0 12 * * *", "1h")
                ]),
                vec!["[2]"],
            ),
        ] {
            assert_eq!(moot(&budgets), moot_ones, "{budgets}");
        }
        let (morning, evening) = (window("0", "0 6 * * *", "6h"), window("1", "0 12 * * *", "6h"));
        let day = window("5", "0 8 * * *", "8h");
        assert_eq!(moot(&json!([always, day, morning, evening])), ["[1]"]);
        assert_eq!(
            moot(&json!([
                always,
                window("5", "0 8 * * *", "12h"),
                morning,
                evening
            ])),
            [""; 0]
        );
        let day = window("0", "0 8 * * *", "12h");
        let drift = json!({"nodes": "0", "reasons": ["Drifted"], "schedule": "0 8 * * *", "duration": "12h"});
        for budgets in [
            json!([always, day, window("10%", "0 19 * * *", "2h")]),
            json!([always, drift, window("10%", "0 9 * * *", "2h")]),
            json!([
                window("0", "0 19 * * sat,sun", "11h"),
                {"nodes": "0", "reasons": ["Empty"], "schedule": "0 0 * * *", "duration": "20h"},
                window("10%", "0 0 * * sat,sun", "21h"),
            ]),
            json!([
                always,
                window("2", "0 8 * * *", "12h"),
                window("10%", "0 9 * * *", "1h")
            ]),
            json!([
                always,
                window("5", "0 8 * * *", "12h"),
                window("1", "0 9 * * *", "1h")
            ]),
            json!([
                always,
                window("0", "@monthly", "8h"),
                window("1", "@monthly", "24h")
            ]),
        ] {
            assert_eq!(moot(&budgets), [""; 0], "{budgets}");
        }
    }

    #[test]
    fn of_equal_budgets_enough_stay_in_any_order() {
        let window = |schedule: &str, duration: &str| json!({"nodes": "5", "schedule": schedule, "duration": duration});
        let (day, morning, afternoon) = (
            window("0 8 * * *", "12h"),
            window("0 8 * * *", "6h"),
            window("0 14 * * *", "6h"),
        );
        for (budgets, moot_ones) in [
            (json!([morning, afternoon, day]), vec!["[2]"]),
            (json!([morning, day, afternoon]), vec!["[2]", "[0]"]),
            (json!([day, morning, afternoon]), vec!["[1]", "[2]"]),
        ] {
            let mut expected = moot_ones;
            expected.sort_unstable();
            assert_eq!(moot(&budgets), expected, "{budgets}");
        }
    }

    #[test]
    fn a_budget_with_a_mistake_makes_no_other_one_pointless() {
        for typo in [
            json!({"nodes": "0", "reason": ["Drifted"]}),
            json!({"nodes": "0", "reasons": ["Drift"]}),
            json!({"nodes": "0", "schedules": "@daily", "duration": "8h"}),
            json!({"nodes": "0", "schedule": "0 0 31 2 *", "duration": "8h"}),
            json!({"nodes": "0", "schedule": "@hourly", "duration": "1h"}),
        ] {
            assert_eq!(moot(&json!([{"nodes": "10%"}, typo])), [""; 0], "{typo}");
            assert_eq!(
                moot(&json!([{"nodes": "0"}, typo])).len(),
                usize::from(typo["schedule"] == "@hourly"),
                "{typo}"
            );
        }
    }

    #[test]
    fn it_is_said_when_a_lower_budget_holds_and_which_ones_do_so_together() {
        let said = |budgets: Value| warnings(&json!({"spec": {"disruption": {"budgets": budgets}}}));
        assert_eq!(
            said(json!([
                {"nodes": "100%"},
                {"nodes": "0", "schedule": "0 8 * * *", "duration": "12h"},
                {"nodes": "5", "schedule": "0 9 * * mon", "duration": "1h"},
            ])),
            [
                "spec.disruption.budgets[2].nodes: Invalid value: \"5\": the lowest budget counts, and budgets[1], which \
                 allows 0, is active whenever this one is, so this one changes nothing; remove it, or let the window of \
                 budgets[1] leave out these hours [budget-redundant]"
            ]
        );
        assert_eq!(
            said(json!([
                {"nodes": "1", "reasons": ["Empty"]},
                {"nodes": "1", "reasons": ["Drifted", "Underutilized"]},
                {"nodes": "2", "reasons": ["Empty", "Drifted"]},
            ])),
            [
                "spec.disruption.budgets[2].nodes: Invalid value: \"2\": the lowest budget counts, and whenever this one \
                 is active, budgets[0] and budgets[1] allow no more, each for some of its reasons or hours, so this one changes nothing; \
                 remove it, or write a lower number [budget-redundant]"
            ]
        );
    }

    #[test]
    fn budgets_that_count_at_some_time_or_size_pass() {
        let night = |nodes: &str| json!({"nodes": nodes, "schedule": "0 22 * * *", "duration": "6h"});
        for budgets in [
            json!([{"nodes": "1"}, night("0")]),
            json!([{"nodes": "20%"}, {"nodes": "5"}]),
            json!([{"nodes": "2"}, {"nodes": "10%"}]),
            json!([night("0"), {"nodes": "5"}]),
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
