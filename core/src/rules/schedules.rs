//! The `schedule` of a budget, parsed as Karpenter parses it.

use std::time::Duration;

use super::findings::Findings;
use super::length::too_long;
use super::origins::by_crd_or;
use crate::diagnostic::{Origin, RuleId, Severity};
use crate::karpenter::Budget;
use crate::rule::{Evidence, Rule};
use crate::value::cron::{Schedule, crd_accepts};

pub const RULES: &[&Rule] = &[
    &SCHEDULE_SYNTAX,
    &SCHEDULE_NEVER_FIRES,
    &SCHEDULE_EVERY,
    &SCHEDULE_EITHER_DAY,
];

static SCHEDULE_SYNTAX: Rule = Rule {
    id: RuleId::new("schedule-syntax"),
    title: "The `schedule` of a budget is one that Karpenter can read",
    severity: Some(Severity::Error),
    origins: &[Origin::Silent, Origin::Poolgate, Origin::Schema],
    evidence: Some(Evidence::Shown),
    why: "The CRD checks a schedule only roughly and accepts some that Karpenter cannot read: `sat-sun`, \
          day of week `7`, a time zone prefix, a sixth field. One such budget then stops **all** voluntary \
          disruption of the pool, even for reasons that the budget does not name. The only sign is a line in \
          Karpenter's log. A schedule is five fields (minute, hour, day of month, month, day of week) in \
          UTC, or one of `@yearly`, `@monthly`, `@weekly`, `@daily` and `@hourly`. Sunday is 0, ranges do \
          not wrap around, and names have three letters.",
    seen_in: &["1866", "aws/karpenter-provider-aws#7562", "943"],
    bad: r#"spec:
  disruption:
    consolidateAfter: 1m
    budgets:
      - nodes: "0"
        schedule: 0 9 * * sat-sun
        duration: 8h
"#,
    good: r#"spec:
  disruption:
    consolidateAfter: 1m
    budgets:
      - nodes: "0"
        schedule: 0 9 * * sat,sun
        duration: 8h
"#,
};

static SCHEDULE_NEVER_FIRES: Rule = Rule {
    id: RuleId::new("schedule-never-fires"),
    title: "The `schedule` of a budget can fire",
    severity: Some(Severity::Error),
    origins: &[Origin::Silent],
    evidence: Some(Evidence::Shown),
    why: "A date that does not exist (31 February) or a field of only commas never fires, and Karpenter \
          treats that as *always*: the budget is active forever, the opposite of what one expects. With \
          `nodes: \"0\"` the pool is frozen.",
    seen_in: &[],
    bad: r#"spec:
  disruption:
    consolidateAfter: 1m
    budgets:
      - nodes: "0"
        schedule: 0 0 31 2 *
        duration: 8h
"#,
    good: r#"spec:
  disruption:
    consolidateAfter: 1m
    budgets:
      - nodes: "0"
        schedule: 0 0 28 2 *
        duration: 8h
"#,
};

static SCHEDULE_EVERY: Rule = Rule {
    id: RuleId::new("schedule-every"),
    title: "The `schedule` of a budget names times of day, not an interval",
    severity: Some(Severity::Warning),
    origins: &[Origin::Silent],
    evidence: Some(Evidence::Shown),
    why: "`@every 1h` counts from the moment at which Karpenter evaluates it, not from a time of day. So its \
          window is always open or never, depending on whether the interval or the duration is longer. The \
          CRD rejects the plain form, but not one with enough spaces around it.",
    seen_in: &[],
    bad: r#"spec:
  disruption:
    consolidateAfter: 1m
    budgets:
      - nodes: 10%
      - nodes: "1"
        schedule: "@every 2h      "
        duration: 1h
"#,
    good: r#"spec:
  disruption:
    consolidateAfter: 1m
    budgets:
      - nodes: 10%
      - nodes: "1"
        schedule: 0 */2 * * *
        duration: 1h
"#,
};

static SCHEDULE_EITHER_DAY: Rule = Rule {
    id: RuleId::new("schedule-either-day"),
    title: "The `schedule` of a budget restricts the day of the month or the day of the week, not both",
    severity: Some(Severity::Warning),
    origins: &[Origin::Silent],
    evidence: Some(Evidence::Shown),
    why: "If both day fields are restricted, either of them is enough: `0 0 1-7 * mon` fires on the first \
          seven days of each month and on every Monday, not on the first Monday. Unlike in other cron \
          implementations, `*/2` counts as restricted, too, and so do `1-31` and `0-6`: `0 0 1 * 0-6` fires every \
          day.",
    seen_in: &[],
    bad: r#"spec:
  disruption:
    consolidateAfter: 1m
    budgets:
      - nodes: 10%
      - nodes: "0"
        schedule: 0 0 */2 * mon
        duration: 8h
"#,
    good: r#"spec:
  disruption:
    consolidateAfter: 1m
    budgets:
      - nodes: 10%
      - nodes: "0"
        schedule: 0 0 * * mon
        duration: 8h
"#,
};

/// Checks the schedule by itself. Returns it if Karpenter can read it and it fires at times of day, so that the
/// budget's window can be checked.
pub fn check(
    budget: &Budget<'_>,
    duration: Option<Duration>,
    findings: &mut Findings<'_>,
) -> Option<Schedule> {
    let text = budget.schedule.present()?;
    let found = |rule: &Rule, reason: &str| rule.finding(budget.path("schedule"), text, reason);
    if let Some(reason) = too_long(text) {
        let origin = by_crd_or(Origin::Poolgate, crd_accepts(text));
        findings.push(found(&SCHEDULE_SYNTAX, &reason).origin(origin));
        return None;
    }
    let schedule = match Schedule::parse(text) {
        Ok(schedule) => schedule,
        Err(error) => {
            let is_let_through = crd_accepts(text);
            let consequence = if is_let_through {
                ", so Karpenter would stop all voluntary disruption of this pool"
            } else {
                ""
            };
            let reason = format!("{error}{consequence}");
            findings.push(
                found(&SCHEDULE_SYNTAX, &reason)
                    .origin(by_crd_or(Origin::Silent, is_let_through))
                    .suggest_if_known(error.suggestion_for(text)),
            );
            return None;
        }
    };
    if !crd_accepts(text) {
        let reason =
            "Karpenter's CRD takes five fields, or @yearly, @monthly, @weekly, @daily or @hourly alone";
        findings.push(found(&SCHEDULE_SYNTAX, reason).origin(Origin::Schema));
        return None;
    }
    if schedule.never_fires() {
        let reason =
            "this never happens, and Karpenter treats never as always: the budget would always be active";
        findings.push(found(&SCHEDULE_NEVER_FIRES, reason).suggest(
            "write a time that exists, or remove schedule and duration if it should always be active",
        ));
        return None;
    }
    if let Some(interval) = schedule.every() {
        let state = match duration {
            Some(duration) if interval <= duration => "always",
            Some(_) => "never",
            None => "always or never",
        };
        let reason =
            format!("an interval counts from the moment Karpenter looks, so this budget is {state} active");
        findings.push(found(&SCHEDULE_EVERY, &reason).suggest("write five fields"));
        return None;
    }
    let reason = if schedule.fires_on_either_day() {
        Some("both day fields are restricted, and either of them is enough for it to fire")
    } else if Schedule::restricts_days_in_vain(text) {
        Some("one day field has every day, and either of them is enough, so it fires every day")
    } else {
        None
    };
    if let Some(reason) = reason {
        findings.push(
            found(&SCHEDULE_EITHER_DAY, reason)
                .suggest("write * in one of them, or a budget for each if either should match"),
        );
    }
    Some(schedule)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
                errors_of(schedule)[0].contains("Karpenter's CRD takes five fields"),
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
}
