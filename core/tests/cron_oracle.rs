//! Compares our verdict on each schedule with the recorded one; see `data/README.md`.

use jiff::Timestamp;
use poolgate_core::facts::{ApiVersion, TargetKarpenter};
use poolgate_core::value::cron::{Schedule, ScheduleError};
use poolgate_core::value::duration::GoDurationError;
use serde_json::Value;

const SCHEDULE: &str = "spec.disruption.budgets[].schedule";

const ORACLE: &str = include_str!("data/cron-oracle.jsonl");

/// The recorded class of an error.
fn class(error: &ScheduleError) -> &'static str {
    match error {
        ScheduleError::FieldCount { .. } => "field_count",
        ScheduleError::UnknownMacro { .. } => "unrecognized_descriptor",
        ScheduleError::BadEvery { .. } => "bad_duration",
        ScheduleError::NotANumber { .. } => "parse_int",
        ScheduleError::TooManyHyphens { .. } => "too_many_hyphens",
        ScheduleError::TooManySlashes { .. } => "too_many_slashes",
        ScheduleError::BelowMinimum { .. } => "below_minimum",
        ScheduleError::AboveMaximum(_) => "above_maximum",
        ScheduleError::Backwards(_) => "reversed_range",
        ScheduleError::ZeroStep { .. } => "zero_step",
        ScheduleError::NegativeStep { .. } => "negative_step",
    }
}

/// The recorded fire times of an accepted schedule, our fire times, and whether ours end there.
fn fires(schedule: &Schedule, row: &Value) -> (Vec<String>, Vec<String>, bool) {
    let texts = row["next"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let expected: Vec<String> = texts.map(str::to_owned).collect();
    let fire_times = schedule.fire_times();
    let mut at = row["start"]
        .as_str()
        .and_then(|start| start.parse::<Timestamp>().ok());
    let mut ours = Vec::new();
    for _ in 0..expected.len() {
        at = at.and_then(|at| fire_times.next_after(at));
        ours.extend(at.map(|at| at.to_string()));
    }
    let ends = at.is_some_and(|at| fire_times.next_after(at).is_none());
    (expected, ours, ends)
}

#[test]
fn all_recorded_verdicts_are_ours() {
    let mut accepted = 0;
    let karpenter = TargetKarpenter::default();
    for (number, line) in (1..).zip(ORACLE.lines()) {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = row["expression"].as_str().unwrap();
        assert_eq!(
            Some(!karpenter.rejects(SCHEDULE, ApiVersion::V1, text)),
            row["crd_pattern"].as_bool(),
            "line {number}: {text:?}"
        );
        let schedule = Schedule::parse(text);
        let our_class = schedule.as_ref().err().map(class);
        assert_eq!(
            our_class,
            row["karpenter_error_class"].as_str(),
            "line {number}: {text:?}"
        );
        assert_eq!(
            Some(schedule.is_ok()),
            row["karpenter_accepted"].as_bool(),
            "line {number}"
        );
        let Ok(schedule) = schedule else { continue };
        accepted += 1;
        let (expected, ours, ends) = fires(&schedule, &row);
        assert_eq!(ours, expected, "line {number}: {text:?}");
        assert_eq!(Some(ends), row["exhausted"].as_bool(), "line {number}: {text:?}");
        if row["exhausted"].as_bool() == Some(true) {
            assert!(schedule.never_fires(), "line {number}: {text:?}");
        }
    }
    assert_eq!(ORACLE.lines().count(), 5_950);
    assert_eq!(accepted, 3_338);
}

#[test]
fn an_overlong_delay_is_distinguished_from_a_misspelt_one() {
    let overlong = Schedule::parse("@every 3000000h");
    let source = GoDurationError::Overflow;
    let delay = "3000000h".to_owned();
    assert_eq!(overlong, Err(ScheduleError::BadEvery { delay, source }));
}
