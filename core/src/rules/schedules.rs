//! The `schedule` of a budget, parsed as Karpenter parses it.

use std::time::Duration;

use super::findings::Findings;
use crate::budget::{Budget, Parsed};
use crate::diagnostic::Origin;
use crate::rules::rule::Rule;
use crate::value::cron::Schedule;

pub static SCHEDULE_SYNTAX: Rule = rule!("schedule-syntax", Error, [Silent, Schema], Shown);
pub static SCHEDULE_NEVER_FIRES: Rule = rule!("schedule-never-fires", Error, [Silent], Shown);
pub static SCHEDULE_EVERY: Rule = rule!("schedule-every", Warning, [Silent], Shown);
pub static SCHEDULE_EITHER_DAY: Rule = rule!("schedule-either-day", Warning, [Silent], Shown);

/// Checks the schedule by itself. Returns whether Karpenter can read it and it fires at times of day, so that the
/// budget's window can be checked.
pub fn check(budget: &Budget, duration: Option<Duration>, findings: &mut Findings<'_>) -> bool {
    let Some(Parsed { text, value }) = budget.schedule.as_ref().present() else {
        return false;
    };
    let path = || budget.path("schedule");
    let schedule = match value.as_ref().map_err(AsRef::as_ref) {
        Ok(schedule) => schedule,
        Err(error) => {
            let path = path();
            let consequence = if findings.context.crd_rejects(&path, text) {
                ""
            } else {
                ", so Karpenter would stop all voluntary disruption of this pool"
            };
            let reason = format!("{error}{consequence}");
            findings
                .report_text(&SCHEDULE_SYNTAX, path, text, Origin::Silent, reason)
                .suggest_if_known(error.suggestion_for(text));
            return false;
        }
    };
    if !is_plain(schedule, text) && findings.context.crd_rejects(&path(), text) {
        let reason =
            "Karpenter's CRD accepts five fields, or @yearly, @monthly, @weekly, @daily or @hourly alone";
        findings
            .report(&SCHEDULE_SYNTAX, path(), &**text, reason)
            .origin(Origin::Schema);
        return false;
    }
    if schedule.never_fires() {
        let reason = "this schedule never fires; Karpenter treats that as always active";
        findings
            .report(&SCHEDULE_NEVER_FIRES, path(), &**text, reason)
            .suggest(
                "write a time that exists, or remove schedule and duration if it should always be active",
            );
        return false;
    }
    if let Some(interval) = schedule.every() {
        let state = match duration {
            Some(duration) if interval <= duration => "always",
            Some(_) => "never",
            None => "always or never",
        };
        let reason = format!(
            "an interval counts from the moment at which Karpenter evaluates it, so this budget is {state} active"
        );
        findings
            .report(&SCHEDULE_EVERY, path(), &**text, reason)
            .suggest("write five fields");
        return false;
    }
    let reason = if schedule.fires_on_either_day() {
        Some("both day fields are restricted, and either of them is enough for it to fire")
    } else if Schedule::restricts_days_in_vain(text) {
        Some("one day field matches every day, and either of them is enough, so it fires every day")
    } else {
        None
    };
    if let Some(reason) = reason {
        findings
            .report(&SCHEDULE_EITHER_DAY, path(), &**text, reason)
            .suggest("write * in one of them, or a budget for each if either should match");
    }
    true
}

/// Whether a schedule that Karpenter can read is a macro, or five words with single blanks: then the definition accepts it,
/// and its pattern, which takes longer than all other checks of a schedule, is not asked.
fn is_plain(schedule: &Schedule, text: &str) -> bool {
    let is_printable = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let has_five_words = || text.split(' ').all(|word| !word.is_empty()) && text.split(' ').count() == 5;
    schedule.every().is_none() && is_printable && (text.starts_with('@') || has_five_words())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::karpenter::shape::nodepool;
    use crate::karpenter::{ApiVersion, KarpenterVersion};
    use crate::rules::testing::{errors, warnings};

    fn errors_of(schedule: &str) -> Vec<String> {
        errors(
            &json!({"spec": {"disruption": {"budgets": [{"nodes": "0", "schedule": schedule, "duration": "1h"}]}}}),
        )
    }

    fn warnings_of(schedule: &str) -> Vec<String> {
        warnings(
            &json!({"spec": {"disruption": {"budgets": [{"nodes": "0", "schedule": schedule, "duration": "1h"}]}}}),
        )
    }

    #[test]
    fn what_karpenter_cannot_read_is_denied_with_a_suggestion() {
        for (schedule, suggestion) in [
            ("0 9 * * sat-sun", "; write sat,sun [schedule-syntax]"),
            ("0 0 * * 7", "; write 0 for Sunday [schedule-syntax]"),
        ] {
            let denied = errors_of(schedule);
            assert_eq!(denied.len(), 1, "{schedule}");
            assert!(
                denied[0].contains("so Karpenter would stop all voluntary disruption of this pool"),
                "{denied:?}"
            );
            assert!(denied[0].ends_with(suggestion), "{denied:?}");
        }
        for schedule in [
            "",
            "0 9 * *",
            "TZ=Asia/Tokyo 0 9 * * *",
            "0 9 * * * *",
            "@Daily",
            "@dailyfoo",
            "0 0 L * *",
        ] {
            let denied = errors_of(schedule);
            assert_eq!(denied.len(), 1, "{schedule}: {denied:?}");
            assert!(denied[0].ends_with("[schedule-syntax]"), "{denied:?}");
        }
    }

    #[test]
    fn what_only_the_crd_rejects_is_denied_too() {
        for schedule in ["@every 1h", "0 9 * * *\n"] {
            assert!(
                errors_of(schedule)[0].contains("Karpenter's CRD accepts five fields"),
                "{schedule}"
            );
        }
    }

    #[test]
    fn a_schedule_that_never_fires_is_denied() {
        for schedule in [
            "0 0 31 2 *",
            "0 0 30 2 *",
            "0 0 31 4,6,9,11 *",
            ", * * * *",
            "0 0 * * ,",
        ] {
            assert!(
                errors_of(schedule)[0].ends_with("[schedule-never-fires]"),
                "{schedule}"
            );
        }
        assert_eq!(errors_of("0 0 31 2 1"), [""; 0], "a weekday makes it fire");
        assert_eq!(errors_of("0 0 29 2 *"), [""; 0], "there are leap years");
    }

    #[test]
    fn two_restricted_day_fields_get_a_warning() {
        for schedule in ["0 0 1-7 * mon", "0 0 */2 * mon", "0 0 1 * */2"] {
            assert!(
                warnings_of(schedule)[0].ends_with("[schedule-either-day]"),
                "{schedule}"
            );
        }
        for schedule in ["0 0 1 * 0-6", "0 0 1 * sun-sat", "0 0 1-31 * mon", "0 0 31 2 0-6"] {
            let warned = warnings_of(schedule);
            assert!(warned[0].contains("so it fires every day; write *"), "{warned:?}");
        }
        for schedule in [
            "0 0 */2 * *",
            "0 0 ? * mon",
            "0 0 */1 * mon",
            "0 0 1-31 * 0-6",
            "@weekly",
        ] {
            assert_eq!(warnings_of(schedule), [""; 0], "{schedule}");
        }
    }

    #[test]
    fn a_padded_interval_gets_a_warning() {
        assert_eq!(errors_of("@every 2h      "), [""; 0]);
        assert!(warnings_of("@every 2h      ")[0].contains("this budget is never active"));
        assert!(warnings_of("@every 30m      ")[0].contains("this budget is always active"));
    }

    proptest! {
        #[test]
        fn a_plain_schedule_is_one_that_the_definition_accepts(
            text in r"(@(daily|hourly|every 1h))?[0*, \t\n\u{a0}\u{b}]{0,12}|[ \n]?([0*] ){4}[0*][ \n]?"
        ) {
            if let Ok(schedule) = Schedule::parse(&text) && is_plain(&schedule, &text) {
                let schedule = nodepool(ApiVersion::V1).at("spec.disruption.budgets[].schedule");
                prop_assert!(!schedule.rejects(KarpenterVersion::NEWEST, &text), "{:?}", text);
            }
        }
    }
}
