//! Budgets that change nothing, because others that allow no more hold whenever they do.

use crate::budget::{Budget, Reason, Reasons, Windows};
use crate::karpenter::KarpenterVersion;
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;
use crate::value::nodes::BudgetNodes;

pub static BUDGET_REDUNDANT: Rule = rule!("budget-redundant", Warning, Silent);

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
            "this budget changes nothing",
        )
        .consequence(format!("the lowest budget counts, and {why}"))
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
