//! The times at which the policy forbids all disruption.

use crate::budget::{Budget, Budgets, Reasons, Windows};
use crate::diagnostic::ErrorType;
use crate::karpenter::{ApiVersion, Disruption, NodePool};
use crate::policy::FreezeWindow;
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static FREEZE_WINDOW: Rule = rule!("policy-freeze-window", Error, [Poolgate]);

pub fn check(pool: &NodePool<'_>, budgets: &Budgets, windows: &[FreezeWindow], findings: &mut Findings<'_>) {
    if windows.is_empty() {
        return;
    }
    for window in windows {
        let wanted = Windows::new(window.schedule.value, window.duration.value.as_duration());
        let is_frozen = |reason| {
            let mut freezes = budgets
                .iter()
                .filter(|budget| budget.is_zero() && budget.has(reason));
            let covers = |freeze: &Budget| match freeze.windows() {
                Some(windows) => windows.cover(&wanted),
                None => freeze.is_always_active(),
            };
            let together = freezes.clone().filter_map(Budget::windows);
            freezes.any(covers) || Windows::cover_together(together, &wanted)
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::policy::{Bounds, BudgetBounds, Written};
    use crate::rules::policy::testing::{errors, with_budgets};
    use crate::value::cron::Schedule;
    use crate::value::duration::BudgetDuration;

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
            json!({"nodes": "0", "schedule": "@monthly", "duration": "744h"}),
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
