//! The `schedule` of a budget, parsed as Karpenter parses it.

use std::time::Duration;

use super::findings::Findings;
use crate::budget::{Budget, Parsed};
use crate::diagnostic::Origin;
use crate::rules::rule::Rule;
use crate::value::cron::Schedule;

pub static SCHEDULE_SYNTAX: Rule = rule!("schedule-syntax", Error, Silent);
pub static SCHEDULE_NEVER_FIRES: Rule = rule!("schedule-never-fires", Error, Silent);
pub static SCHEDULE_EVERY: Rule = rule!("schedule-every", Warning, Silent);
pub static SCHEDULE_EITHER_DAY: Rule = rule!("schedule-either-day", Warning, Silent);

/// Checks the schedule on its own. Returns whether Karpenter can read it and it fires at times of day, so that the
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
            let finding = findings
                .report_text(&SCHEDULE_SYNTAX, path, text, Origin::Silent, error.to_string())
                .suggest_if_known(error.suggestion_for(text));
            if finding.origin == Origin::Silent {
                finding.consequence("Karpenter would stop all voluntary disruption of this pool");
            }
            return false;
        }
    };
    if !is_plain(schedule, text) && findings.context.crd_rejects(&path(), text) {
        findings
            .report(
                &SCHEDULE_SYNTAX,
                path(),
                &**text,
                "Karpenter's CRD rejects this schedule",
            )
            .origin(Origin::Schema)
            .suggest("write only five fields, or only @yearly, @monthly, @weekly, @daily or @hourly");
        return false;
    }
    if schedule.never_fires() {
        findings
            .report(
                &SCHEDULE_NEVER_FIRES,
                path(),
                &**text,
                "this schedule never fires",
            )
            .consequence("Karpenter treats the budget as always active")
            .suggest(
                "write a time that exists, or remove schedule and duration to keep the budget always active",
            );
        return false;
    }
    if let Some(interval) = schedule.every() {
        let state = match duration {
            Some(duration) if interval <= duration => "always",
            Some(_) => "never",
            None => "always or never",
        };
        let title = "Karpenter starts the interval of @every again at each evaluation";
        findings
            .report(&SCHEDULE_EVERY, path(), &**text, title)
            .consequence(format!("the budget is {state} active"))
            .suggest("write five fields");
        return false;
    }
    let said = if schedule.fires_on_either_day() {
        Some((
            "the schedule restricts both day fields",
            "the schedule fires on each day that matches either field",
        ))
    } else if Schedule::restricts_days_in_vain(text) {
        Some((
            "one day field matches every day",
            "one match is enough, so the schedule fires every day",
        ))
    } else {
        None
    };
    if let Some((title, consequence)) = said {
        findings
            .report(&SCHEDULE_EITHER_DAY, path(), &**text, title)
            .consequence(consequence)
            .suggest("write * in one day field, or write a budget for each if either should match");
    }
    true
}

/// Whether a schedule that Karpenter can read is a macro, or five words with single blanks: then the definition accepts it,
/// and its pattern, which takes longer than all other checks of a schedule, is not run.
fn is_plain(schedule: &Schedule, text: &str) -> bool {
    let is_printable = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let has_five_words = || text.split(' ').all(|word| !word.is_empty()) && text.split(' ').count() == 5;
    schedule.every().is_none() && is_printable && (text.starts_with('@') || has_five_words())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::facts::shape::nodepool;
    use crate::facts::{ApiVersion, KarpenterVersion};

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
