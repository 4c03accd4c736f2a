//! When a budget holds: its `schedule` and `duration` together.

use std::time::Duration;

use crate::budget::{Budget, Parsed};
use crate::diagnostic::{ErrorType, Origin};
use crate::karpenter::Field;
use crate::rules::findings::Findings;
use crate::rules::lifetime::UNREADABLE;
use crate::rules::rule::Rule;
use crate::rules::schedules;

pub static BUDGET_DURATION: Rule = rule!("budget-duration", Error, Schema);
pub static BUDGET_ALWAYS_ACTIVE: Rule = rule!("budget-always-active", Warning, Silent);

/// Checks when the budget holds. Returns whether it does at some times or always, so that it can be compared with others.
pub fn check(budget: &Budget, findings: &mut Findings<'_>) -> bool {
    check_pair(budget, findings);
    let duration = check_duration(budget, findings);
    let fires = schedules::check(budget, duration, findings);
    if budget.has_no_window() {
        return true;
    }
    let is_sound = fires && duration.is_some();
    if is_sound && budget.is_always_active() {
        let duration = budget.duration.as_ref().present();
        let text = duration.map_or("", |duration| &duration.text);
        let title = "the window begins again before it ends";
        findings
            .report(&BUDGET_ALWAYS_ACTIVE, budget.path("duration"), text, title)
            .consequence("the budget is always active")
            .suggest("shorten it, or remove schedule and duration if it should always be active")
            .related(budget.path("schedule"));
    }
    is_sound
}

fn check_pair(budget: &Budget, findings: &mut Findings<'_>) {
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
    let title = format!("{beside} is set, and one has no meaning without the other");
    findings
        .report(&BUDGET_DURATION, budget.path(missing), ErrorType::Required, title)
        .suggest(suggestion);
}

/// Returns the duration if it can be read and is not zero.
fn check_duration(budget: &Budget, findings: &mut Findings<'_>) -> Option<Duration> {
    let Parsed { text, value } = budget.duration.as_ref().present()?;
    let path = || budget.path("duration");
    match value.as_ref().map_err(AsRef::as_ref) {
        Ok(duration) if duration.is_zero() => {
            findings
                .report(&BUDGET_DURATION, path(), &**text, "the window has no length")
                .origin(Origin::Silent)
                .consequence("the budget is never active")
                .suggest("write how long it is, such as 30m");
            None
        }
        Ok(duration) => Some(duration.as_duration()),
        Err(error) => {
            let finding = findings
                .report_text(&BUDGET_DURATION, path(), text, Origin::Silent, error.why)
                .suggest_if_known(error.suggestion.clone());
            if finding.origin == Origin::Silent {
                finding.consequence(UNREADABLE);
            }
            None
        }
    }
}
