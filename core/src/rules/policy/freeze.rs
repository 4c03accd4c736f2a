//! The times at which the policy forbids all disruption.

use crate::budget::{ParsedBudget, Reasons};
use crate::diagnostic::ErrorType;
use crate::karpenter::{ApiVersion, Disruption, NodePool};
use crate::policy::FreezeWindow;
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;
use crate::value::cron::{Schedule, WeekMinutes};
use crate::value::duration::BudgetDuration;

pub static FREEZE_WINDOW: Rule = rule!("policy-freeze-window", Error, [Poolgate]);

pub fn check(
    pool: &NodePool<'_>,
    budgets: &[ParsedBudget<'_>],
    windows: &[FreezeWindow],
    findings: &mut Findings<'_>,
) {
    if windows.is_empty() {
        return;
    }
    for window in windows {
        let is_frozen = |reason| {
            let freezes = budgets
                .iter()
                .filter(|budget| budget.is_zero() && budget.has(reason));
            freezes.clone().any(|freeze| covers(freeze, window)) || cover_together(freezes, window)
        };
        // The repair of a broken node may go on.
        if Reasons::ALL_BUT_REPAIR.iter().all(is_frozen) {
            continue;
        }
        let (schedule, duration) = (&window.schedule.text, &window.duration.text);
        let reason = format!(
            "the policy allows no disruption for {duration} from `{schedule}` (UTC) on, and no budget blocks it"
        );
        let reasons = match pool.version {
            ApiVersion::V1 => format!("reasons: {}, ", Reasons::ALL_BUT_REPAIR.written()),
            ApiVersion::V1Beta1 => String::new(),
        };
        let suggestion = format!(
            "add a budget with nodes: \"0\", {reasons}schedule: \"{schedule}\" and duration: {duration}"
        );
        findings
            .report(
                &FREEZE_WINDOW,
                Disruption::path("budgets"),
                ErrorType::Required,
                reason,
            )
            .suggest(suggestion);
    }
}

/// Whether a budget holds at least as long as a window, each time.
fn covers(freeze: &ParsedBudget<'_>, window: &FreezeWindow) -> bool {
    let is_as_long = |(schedule, duration): (Schedule, BudgetDuration)| {
        duration >= window.duration.value && schedule.covers(&window.schedule.value)
    };
    freeze.has_no_window() || freeze.times().is_some_and(is_as_long)
}

/// Whether every minute of a window is one of these. Only for windows that are the same every week.
fn cover_together<'b>(freezes: impl Iterator<Item = &'b ParsedBudget<'b>>, window: &FreezeWindow) -> bool {
    let week = |schedule: Schedule, duration: BudgetDuration| schedule.week(duration.as_duration());
    let Some(wanted) = week(window.schedule.value, window.duration.value) else {
        return false;
    };
    let mut closed = WeekMinutes::NONE;
    for freeze in freezes {
        if let Some((schedule, duration)) = freeze.times()
            && let Some(minutes) = week(schedule, duration)
        {
            closed.add(&minutes);
        }
    }
    closed.has_all_of(&wanted)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::policy::{Bounds, BudgetBounds, Written};
    use crate::rules::policy::testing::{errors, with_budgets};

    fn denied(budgets: &Value) -> Vec<String> {
        let window = FreezeWindow {
            schedule: Written {
                text: "0 8 * * mon-fri".into(),
                value: Schedule::parse("0 8 * * mon-fri").unwrap(),
            },
            duration: Written {
                text: "10h".into(),
                value: BudgetDuration::parse("10h").unwrap(),
            },
        };
        let budgets_bounds = BudgetBounds {
            freeze_windows: vec![window],
            ..BudgetBounds::default()
        };
        let bounds = Bounds {
            budgets: budgets_bounds,
            ..Bounds::default()
        };
        errors(bounds, &with_budgets(budgets))
    }

    #[test]
    fn a_budget_of_zero_that_holds_at_least_as_long_is_enough() {
        for budget in [
            json!({"nodes": "0", "schedule": "0 8 * * 1-5", "duration": "10h"}),
            json!({"nodes": "0%", "schedule": "0 8 * * *", "duration": "600m"}),
            json!({"nodes": "0", "schedule": "0 8,20 * * *", "duration": "11h"}),
            json!({"nodes": "0"}),
            json!({"nodes": "0", "reasons": ["Underutilized", "Empty", "Drifted"]}),
        ] {
            assert_eq!(denied(&json!([{"nodes": "10%"}, budget])), [""; 0], "{budget}");
        }
    }

    #[test]
    fn budgets_of_zero_that_hold_all_the_time_together_are_enough() {
        let zero = |schedule: &str, duration: &str| json!({"nodes": "0", "schedule": schedule, "duration": duration});
        for fine in [
            json!([zero("0 8 * * mon-fri", "5h"), zero("0 13 * * mon-fri", "5h")]),
            json!([zero("0 8-17 * * mon-fri", "1h")]),
            json!([zero("0 7 * * *", "12h")]),
            json!([zero("0 6 * * sat", "164h")]),
        ] {
            assert_eq!(denied(&fine), [""; 0], "{fine}");
        }
        let gap = json!([zero("0 8 * * mon-fri", "5h"), zero("1 13 * * mon-fri", "5h")]);
        assert_eq!(denied(&gap).len(), 1);
    }

    #[test]
    fn a_freeze_for_each_reason_is_one_for_all_and_repair_may_go_on() {
        let zero = |reason: &str| json!({"nodes": "0", "reasons": [reason], "schedule": "0 8 * * 1-5", "duration": "10h"});
        let three = json!([zero("Underutilized"), zero("Empty"), zero("Drifted")]);
        assert_eq!(denied(&three), [""; 0]);
        assert_eq!(denied(&json!([zero("Underutilized"), zero("Drifted")])).len(), 1);
    }

    #[test]
    fn anything_less_is_denied_with_the_budget_to_add() {
        for budget in [
            json!({"nodes": "1", "schedule": "0 8 * * 1-5", "duration": "10h"}),
            json!({"nodes": "0", "schedule": "0 8 * * 1-5", "duration": "9h59m"}),
            json!({"nodes": "0", "schedule": "0 9 * * 1-5", "duration": "10h"}),
            json!({"nodes": "0", "schedule": "0 8 * * 1-4", "duration": "10h"}),
            json!({"nodes": "0", "reasons": ["Drifted"], "schedule": "0 8 * * 1-5", "duration": "10h"}),
            json!({"nodes": "0", "schedule": "0 8 * * 1-5"}),
        ] {
            assert_eq!(
                denied(&json!([budget])),
                [
                    "spec.disruption.budgets: Required value: the policy allows no disruption for 10h from \
                     `0 8 * * mon-fri` (UTC) on, and no budget blocks it; add a budget with nodes: \"0\", reasons: \
                     [Underutilized, Empty, Drifted], schedule: \"0 8 * * mon-fri\" and duration: 10h [policy-freeze-window]"
                ],
                "{budget}"
            );
        }
    }
}
