//! Hours at which no budget holds, so that nothing limits disruption.

use crate::budget::{ParsedBudget, Reason, Reasons, Window};
use crate::diagnostic::ErrorType;
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;
use crate::value::cron::WeekMinutes;

pub static BUDGET_ALLOW_WINDOW: Rule = rule!("budget-allow-window", Warning, [Silent], Shown);
pub static BUDGET_UNCOVERED_HOURS: Rule = rule!("budget-uncovered-hours", Info, [Silent], Shown);

/// Reports windows if at some hour outside of them no budget for their reasons holds, of those that replace nodes. All
/// budgets of the pool must be readable.
pub fn check(replacing: Reasons, budgets: &[&ParsedBudget<'_>], findings: &mut Findings<'_>) {
    let at_times = reasons_limited_at_times(budgets).and(replacing);
    if at_times == Reasons::NONE {
        return;
    }
    let with_gap = reasons_with_gap(at_times, budgets);
    // None of these always holds: otherwise its reasons would not be in `with_gap`.
    let windows = || budgets.iter().filter(|budget| budget.reasons().has_any(with_gap));
    let mut freezes_only = true;
    for opening in windows().filter(|window| !window.is_zero()) {
        freezes_only = false;
        report_opening(opening, findings);
    }
    if let Some(freeze) = windows().next().filter(|_| freezes_only) {
        report_freeze(freeze, findings);
    }
}

/// The reasons for which budgets hold only at some times.
fn reasons_limited_at_times(budgets: &[&ParsedBudget<'_>]) -> Reasons {
    let named = |always: bool| {
        budgets
            .iter()
            .filter(|budget| budget.is_always_active() == always)
            .fold(Reasons::NONE, |reasons, budget| reasons.with(budget.reasons()))
    };
    named(false).without(named(true))
}

/// The minutes of the week at which a budget holds, if it is the same every week.
fn week(budget: &ParsedBudget<'_>) -> Option<WeekMinutes> {
    match budget.window {
        Some(Window::Sometimes { schedule, duration }) => schedule.week(duration),
        Some(Window::Always) | None => None,
    }
}

/// The budgets for one reason.
struct Coverage {
    reason: Reason,
    /// The minutes of the week at which one holds.
    covered: WeekMinutes,
    weekly: usize,
    /// Budgets that are not the same every week.
    others: usize,
}

impl Coverage {
    /// Whether there is certainly a time at which none of the budgets holds.
    fn has_gap(&self) -> bool {
        match (self.weekly, self.others) {
            (_, 0) => !self.covered.is_whole_week(),
            // A single window without a gap would be `Window::Always`. Several may fill each other's gaps.
            (0, 1) => true,
            _ => false,
        }
    }
}

/// The reasons, of these, for which there is certainly a time at which no budget holds.
fn reasons_with_gap(at_times: Reasons, budgets: &[&ParsedBudget<'_>]) -> Reasons {
    let coverage = |reason| Coverage {
        reason,
        covered: WeekMinutes::NONE,
        weekly: 0,
        others: 0,
    };
    let mut coverages: Vec<_> = at_times.iter().map(coverage).collect();
    for budget in budgets {
        // A week takes microseconds: none is computed that changes nothing.
        let mut open = coverages
            .iter_mut()
            .filter(|coverage| budget.reasons().has(coverage.reason) && !coverage.covered.is_whole_week())
            .peekable();
        if open.peek().is_none() {
            continue;
        }
        let week = week(budget);
        for coverage in open {
            match &week {
                Some(week) => {
                    coverage.covered.add(week);
                    coverage.weekly += 1;
                }
                None => coverage.others += 1,
            }
        }
    }
    coverages
        .iter()
        .filter(|coverage| coverage.has_gap())
        .fold(Reasons::NONE, |reasons, coverage| {
            reasons.with(Reasons::only(coverage.reason))
        })
}

fn report_opening(budget: &ParsedBudget<'_>, findings: &mut Findings<'_>) {
    let text = budget.view.schedule.present().unwrap_or_default();
    let reason = "budgets only restrict: outside its window all nodes may be disrupted at once";
    findings
        .report(&BUDGET_ALLOW_WINDOW, budget.view.path("schedule"), text, reason)
        .suggest("add a budget without schedule, or one of 0 nodes for the other hours")
        .related(budget.view.path("nodes"));
}

fn report_freeze(budget: &ParsedBudget<'_>, findings: &mut Findings<'_>) {
    let text = budget.view.schedule.present().unwrap_or_default();
    findings
        .report(
            &BUDGET_UNCOVERED_HOURS,
            budget.view.path("schedule"),
            ErrorType::note(&text.into()),
            "outside this freeze no budget is active, and all nodes may be disrupted at once",
        )
        .suggest("add a budget without schedule, such as nodes: 10%");
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::testing::{infos, warnings};

    fn pool(budgets: &Value) -> Value {
        json!({"spec": {"disruption": {"budgets": budgets}}})
    }

    fn window(nodes: &str, schedule: &str, duration: &str) -> Value {
        json!({"nodes": nodes, "schedule": schedule, "duration": duration})
    }

    fn warned_of(rule: &str, budgets: &Value) -> usize {
        let warned = warnings(&pool(budgets));
        warned.iter().filter(|warning| warning.ends_with(rule)).count()
    }

    #[test]
    fn a_window_to_allow_disruption_gets_a_warning() {
        for budgets in [
            json!([window("10%", "0 2 * * *", "4h")]),
            json!([window("10%", "@monthly", "4h")]),
            json!([window("0", "0 9 * * *", "8h"), window("20%", "0 17 * * *", "15h")]),
            json!([{"nodes": "5", "reasons": ["Empty"]}, window("10%", "0 2 * * *", "4h")]),
        ] {
            assert_eq!(warned_of("[budget-allow-window]", &budgets), 1, "{budgets}");
        }
    }

    #[test]
    fn windows_with_a_budget_around_them_are_fine() {
        for budgets in [
            json!([{"nodes": "20%"}, window("10%", "0 2 * * *", "4h")]),
            json!([window("0", "0 9 * * *", "8h"), window("20%", "0 17 * * *", "16h")]),
            json!([
                window("0", "0 0 * * 1-5", "24h"),
                window("20%", "0 0 * * 0,6", "24h")
            ]),
            json!([
                window("1", "0 0 * 1-6 *", "24h"),
                window("2", "0 0 * 7-12 *", "24h")
            ]),
            json!([window("10%", "@daily", "24h")]),
        ] {
            assert_eq!(warned_of("[budget-allow-window]", &budgets), 0, "{budgets}");
        }
    }

    #[test]
    fn a_window_is_fine_if_all_that_replaces_nodes_is_limited_without_it() {
        let reasons = |reasons: &[&str]| json!({"nodes": "10%", "reasons": reasons});
        let window = window("5", "0 9 * * mon-fri", "8h");
        let all = json!([reasons(&["Underutilized", "Empty", "Drifted"]), window]);
        assert_eq!(warned_of("[budget-allow-window]", &all), 0);
        let mut drift = pool(&json!([reasons(&["Drifted"]), window]));
        assert!(warnings(&drift)[0].ends_with("[budget-allow-window]"));
        drift["spec"]["disruption"]["consolidateAfter"] = json!("Never");
        assert_eq!(warnings(&drift), [""; 0]);
    }

    #[test]
    fn a_freeze_alone_gets_an_info_but_no_warning() {
        let freeze = pool(&json!([window("0", "0 8 * * *", "20h")]));
        assert_eq!(warnings(&freeze), [""; 0]);
        assert!(infos(&freeze)[0].ends_with("[budget-uncovered-hours]"));
        let inside = pool(&json!([{"nodes": "1"}, window("0", "0 8 * * *", "20h")]));
        assert_eq!(infos(&inside), [""; 0]);
    }
}
