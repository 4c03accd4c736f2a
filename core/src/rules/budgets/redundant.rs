//! Budgets without effect, because others that allow no more are active whenever they are.

use crate::budget::{Budget, Reason, Reasons, Windows};
use crate::facts::KarpenterVersion;
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
    // One by one, so that no remaining budget depends on a removed one. The later of two equal budgets is removed.
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
                    format!("add a schedule to {name} with the hours in which no node may be disrupted"),
                ),
                (true, false) => (format!("{name} always allows {allowed}"), REMOVE.to_owned()),
                (false, is_zero) => (
                    format!("{name} allows {allowed} whenever this budget is active"),
                    if is_zero {
                        format!("remove this budget, or exclude its hours from the window of {name}")
                    } else {
                        REMOVE.to_owned()
                    },
                ),
            }
        }
        several => {
            let names: Vec<String> = several.iter().map(|lower| index(lower)).collect();
            (
                format!("{} together never allow more", names.join(" and ")),
                REMOVE.to_owned(),
            )
        }
    };
    let finding = findings
        .report(
            &BUDGET_REDUNDANT,
            budget.path("nodes"),
            text,
            "this budget has no effect",
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

const REMOVE: &str = "remove this budget, or write a lower number";
