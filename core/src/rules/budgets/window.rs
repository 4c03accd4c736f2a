//! When a budget holds: its `schedule` and `duration` together.

use std::time::Duration;

use serde_json::Value;

use crate::budget::{Parsed, ParsedBudget, TextError};
use crate::diagnostic::{Edit, ErrorType, FieldPath, Origin, Suggestion};
use crate::karpenter::{Budget, Field, KarpenterVersion};
use crate::rules::context::Context;
use crate::rules::findings::Findings;
use crate::rules::lifetime::UNREADABLE;
use crate::rules::rule::Rule;
use crate::rules::schedules;
use crate::value::duration::BudgetDuration;

pub static BUDGET_DURATION: Rule = rule!("budget-duration", Error, Schema);
pub static BUDGET_ALWAYS_ACTIVE: Rule = rule!("budget-always-active", Warning, Silent);

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
        let title = "the window begins again before it ends";
        findings
            .report(&BUDGET_ALWAYS_ACTIVE, budget.view.path("duration"), text, title)
            .consequence("the budget is always active")
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
    let title = format!("{beside} is set, and one has no meaning without the other");
    findings
        .report(&BUDGET_DURATION, budget.path(missing), ErrorType::Required, title)
        .suggest(suggestion);
}

/// Returns the duration if it can be read and is not zero.
fn check_duration(budget: &ParsedBudget<'_>, findings: &mut Findings<'_>) -> Option<Duration> {
    let Parsed { text, value } = budget.duration.as_ref().present()?;
    let path = || budget.view.path("duration");
    match value.as_ref().map_err(AsRef::as_ref) {
        Ok(duration) if is_in_two_units(text, path, &findings.context) => {
            findings
                .report(&BUDGET_DURATION, path(), *text, ONE_UNIT)
                .suggest(Suggestion::write(duration.in_one_unit()));
            None
        }
        Ok(duration) if duration.is_zero() => {
            findings
                .report(&BUDGET_DURATION, path(), *text, "the window has no length")
                .origin(Origin::Silent)
                .consequence("the budget is never active")
                .suggest("write how long it is, such as 30m");
            None
        }
        Ok(duration) => Some(duration.as_duration()),
        Err(error @ TextError::TooLong { .. }) => {
            findings.report_text(
                &BUDGET_DURATION,
                path(),
                text,
                Origin::Poolgate,
                error.to_string(),
            );
            None
        }
        Err(TextError::Wrong(error)) => {
            let path = path();
            let suggestion = error.suggestion.clone();
            let suggestion = suggestion.map(|written| accepted(written, &path, &findings.context));
            let reason = if is_undecodable(text, &path, &findings.context) {
                UNDECODABLE
            } else {
                error.why
            };
            let finding = findings
                .report_text(&BUDGET_DURATION, path, text, Origin::Silent, reason)
                .suggest_if_known(suggestion);
            if finding.origin == Origin::Silent {
                finding.consequence(UNREADABLE);
            }
            None
        }
    }
}

const ONE_UNIT: &str = "before Karpenter 0.36 a duration is hours or minutes, not both";

const UNDECODABLE: &str = "before Karpenter 0.36 the CRD accepts it, but Karpenter cannot decode it";

/// Whether a duration that later releases accept has hours and minutes where a release accepts only one of them.
fn is_in_two_units(text: &str, path: impl Fn() -> FieldPath, context: &Context<'_>) -> bool {
    !context.release.has(KarpenterVersion::COMPOUND_BUDGET_DURATIONS) && context.crd_rejects(&path(), text)
}

/// Whether the definition of an old release accepts a text that no later one does, such as `1hm`.
fn is_undecodable(text: &str, path: &FieldPath, context: &Context<'_>) -> bool {
    context.release.has(KarpenterVersion::BUDGETS)
        && !context.crd_rejects(path, text)
        && !BudgetDuration::fits_pattern(text)
}

/// What to write instead, in a notation that the definition accepts.
fn accepted(suggestion: Suggestion, path: &FieldPath, context: &Context<'_>) -> Suggestion {
    match &suggestion.edit {
        Some(Edit::Set(Value::String(written))) if context.crd_rejects(path, written) => {
            BudgetDuration::parse(written)
                .map_or(suggestion, |duration| Suggestion::write(duration.in_one_unit()))
        }
        _ => suggestion,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::karpenter::ApiVersion;
    use crate::rules::testing::{errors, findings_for};

    fn budget(budget: &Value) -> Value {
        json!({"spec": {"disruption": {"budgets": [budget]}}})
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
        assert!(duration("0h0m")[0].ends_with("[budget-duration]"));
        assert_eq!(duration("8h0m0s"), [""; 0]);
    }

    #[test]
    fn before_0_36_a_duration_has_one_unit_and_the_definition_accepts_some_that_none_can_decode() {
        let duration = |minor: u16, duration: &str| {
            let object = budget(&json!({"nodes": "0", "schedule": "0 0 1 1 *", "duration": duration}));
            let release = KarpenterVersion::new(0, minor, 0);
            let mut found = findings_for(ApiVersion::V1Beta1, release, &object).into_iter();
            let found = found.find(|finding| finding.rule == BUDGET_DURATION.id)?;
            Some((found.origin, found.help.map(|one| one.text)))
        };
        let write = |text: &str| Some(format!("write {text}"));
        for minor in [34, 35] {
            for (text, instead) in [
                ("1h30m", write("90m")),
                ("1h30m0s", write("90m")),
                ("8h0m", write("8h")),
                ("30m1h", write("90m")),
                ("1.5h", write("90m")),
                ("1d", write("24h")),
                ("1hour 30min", write("90m")),
                ("soon", None),
            ] {
                assert_eq!(duration(minor, text), Some((Origin::Schema, instead)), "{text}");
            }
            for text in ["1hm", "1mm0s", "2562048h"] {
                assert_eq!(duration(minor, text), Some((Origin::Silent, None)), "{text}");
            }
            for text in ["90m", "8h0s"] {
                assert_eq!(duration(minor, text), None, "{text}");
            }
        }
        assert_eq!(duration(36, "1h30m"), None);
        assert_eq!(duration(36, "1hm"), Some((Origin::Schema, None)));
        assert_eq!(duration(36, "1.5h"), Some((Origin::Schema, write("1h30m"))));
    }
}
