//! When a budget holds: its `schedule` and `duration` together.

use std::time::Duration;

use crate::budget::{Parsed, ParsedBudget, TextError};
use crate::diagnostic::{ErrorType, Origin};
use crate::karpenter::{Budget, Field};
use crate::rules::findings::Findings;
use crate::rules::origins::by_crd_or;
use crate::rules::rule::Rule;
use crate::rules::schedules;
use crate::value::duration::BudgetDuration;

pub static BUDGET_SCHEDULE_DURATION: Rule = rule!("budget-schedule-duration", Error, [Schema]);
pub static BUDGET_DURATION: Rule = rule!("budget-duration", Error, [Schema, Silent, Poolgate], Shown);
pub static BUDGET_EMPTY_WINDOW: Rule = rule!("budget-empty-window", Error, [Silent], Shown);
pub static BUDGET_ALWAYS_ACTIVE: Rule = rule!("budget-always-active", Warning, [Silent], Shown);

/// Checks when the budget holds. Returns whether it does at some times or always, so that it can be compared with others.
pub fn check(budget: &ParsedBudget<'_>, findings: &mut Findings<'_>) -> bool {
    check_pair(budget.view, findings);
    let duration = check_duration(budget, findings);
    let fires = schedules::check(budget, duration, findings);
    if budget.has_no_window() {
        return true;
    }
    let is_sound = fires && duration.is_some();
    if is_sound && budget.is_always_active() {
        let text = budget.view.duration.present().unwrap_or_default();
        let reason = "the window begins again before it ends, so the budget is always active";
        findings
            .report(&BUDGET_ALWAYS_ACTIVE, budget.view.path("duration"), text, reason)
            .suggest("shorten it, or remove schedule and duration if it should always be active")
            .related(budget.view.path("schedule"));
    }
    is_sound
}

fn check_pair(budget: &Budget<'_>, findings: &mut Findings<'_>) {
    let (missing, beside, suggestion) = match (&budget.schedule, &budget.duration) {
        (Field::Absent, Field::Absent) => return,
        (Field::Absent, _) => (
            "schedule",
            "duration",
            "say when the window begins, such as schedule: \"0 9 * * mon-fri\"",
        ),
        (_, Field::Absent) => (
            "duration",
            "schedule",
            "say how long the window is, such as duration: 8h",
        ),
        _ => return,
    };
    let reason = format!("{beside} is set, and one has no meaning without the other");
    findings
        .report(
            &BUDGET_SCHEDULE_DURATION,
            budget.path(missing),
            ErrorType::Required,
            reason,
        )
        .suggest(suggestion);
}

/// Returns the duration if it can be read and is not zero.
fn check_duration(budget: &ParsedBudget<'_>, findings: &mut Findings<'_>) -> Option<Duration> {
    let Parsed { text, value } = budget.duration.as_ref().present()?;
    let path = || budget.view.path("duration");
    match value.as_ref().map_err(AsRef::as_ref) {
        Ok(duration) if duration.is_zero() => {
            let reason = "the window has no length, so the budget is never active";
            findings
                .report(&BUDGET_EMPTY_WINDOW, path(), *text, reason)
                .suggest("write how long it is, such as 30m");
            None
        }
        Ok(duration) => Some(duration.as_duration()),
        Err(error @ TextError::TooLong { .. }) => {
            findings
                .report(&BUDGET_DURATION, path(), *text, error.to_string())
                .origin(by_crd_or(Origin::Poolgate, BudgetDuration::fits_pattern(text)));
            None
        }
        Err(TextError::Wrong(error)) => {
            findings
                .report(&BUDGET_DURATION, path(), *text, error.to_string())
                .origin(by_crd_or(Origin::Silent, error.is_let_through))
                .suggest_if_known(error.suggestion.clone());
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::testing::{errors, warnings};

    fn budget(budget: &Value) -> Value {
        json!({"spec": {"disruption": {"budgets": [budget]}}})
    }

    #[test]
    fn schedule_and_duration_need_each_other() {
        assert_eq!(
            errors(&budget(&json!({"nodes": "0", "schedule": "@daily"}))),
            [
                "spec.disruption.budgets[0].duration: Required value: schedule is set, and one has no meaning without \
              the other; say how long the window is, such as duration: 8h [budget-schedule-duration]"
            ]
        );
        assert_eq!(
            errors(&budget(
                &json!({"nodes": "0", "duration": "8h", "schedule": null})
            )),
            [
                "spec.disruption.budgets[0].schedule: Required value: duration is set, and one has no meaning without \
              the other; say when the window begins, such as schedule: \"0 9 * * mon-fri\" \
              [budget-schedule-duration]"
            ]
        );
    }

    #[test]
    fn durations_that_cannot_be_read_are_denied() {
        let duration = |duration: &str| {
            errors(&budget(
                &json!({"nodes": "0", "schedule": "0 0 1 1 *", "duration": duration}),
            ))
        };
        let endless = "1".repeat(1_000_000);
        for wrong in [
            "2562048h",
            "99999999h",
            "1d",
            "90s",
            "1h 30m",
            "30m1h",
            "",
            &endless,
        ] {
            let denied = duration(wrong);
            assert_eq!(denied.len(), 1, "{wrong}: {denied:?}");
            assert!(denied[0].ends_with("[budget-duration]"), "{denied:?}");
        }
        assert!(duration("0h0m")[0].ends_with("[budget-empty-window]"));
        assert_eq!(duration("8h0m0s"), [""; 0]);
    }

    #[test]
    fn a_window_as_long_as_its_period_gets_a_warning() {
        let warned = |schedule: &str, duration: &str| {
            let object = budget(&json!({"nodes": "0", "schedule": schedule, "duration": duration}));
            assert_eq!(errors(&object), [""; 0]);
            !warnings(&object).is_empty()
        };
        for (schedule, just_under, full) in [
            ("@daily", "23h59m", "24h"),
            ("@hourly", "59m", "1h"),
            ("0 0 * * 1", "167h59m", "168h"),
            ("0 0 * * 1-5", "71h59m", "72h"),
            ("0 0 1 * *", "743h59m", "744h"),
        ] {
            assert!(!warned(schedule, just_under), "{schedule} {just_under}");
            assert!(warned(schedule, full), "{schedule} {full}");
        }
    }
}
