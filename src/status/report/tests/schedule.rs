//! Limits that follow the clock.

use super::*;

/// What is said of a pool with this schedule and this stored number: problems, and what the schedule does next.
fn said(schedule: &str, number: &str, leads: bool) -> (Vec<String>, Option<Value>) {
    let annotations =
        json!({"poolgate.dev/node-limit-schedule": schedule, "poolgate.dev/node-limit": number});
    let mut facts = well();
    facts.pools = Ok(vec![pool("4", &annotations)]);
    if !leads {
        facts.reconciler = Ok(None);
    }
    let report = Report::of(&facts, None);
    let pool = &as_json::from_report(&report)["nodePools"][0]["limit"]["scheduled"];
    (report.problems, Some(pool.clone()).filter(|next| !next.is_null()))
}

#[test]
fn pool_whose_stored_limit_is_not_the_scheduled_one_is_a_problem() {
    assert_eq!(said("else 4", "4", true), (Vec::new(), None));
    assert_eq!(
        said("else 4", "7", true).0,
        ["NodePool general: its schedule sets a limit of 4, but 7 is stored"]
    );
    assert_eq!(
        said("else 4", "7", false).0,
        ["NodePool general: its schedule sets a limit of 4, but 7 is stored: no reconciler is leading"]
    );
}

#[test]
fn pool_with_a_schedule_says_what_comes_next() {
    let hour = now().to_zoned(jiff::tz::TimeZone::UTC).hour();
    let next = (hour + 1) % 24;
    let schedule = format!("{next:02}:00-{:02}:00 = 9; else 4", (next + 1) % 24);
    let (problems, scheduled) = said(&schedule, "4", true);
    assert_eq!(problems, [""; 0]);
    assert_eq!(scheduled.expect("a change")["nodes"], 9);
}

#[test]
fn pool_with_a_schedule_that_cannot_be_read_is_a_problem() {
    let (problems, _) = said("mon = 3", "7", true);
    let expected =
        "NodePool general: its schedule cannot be read, so its limit stays: the last part must be `else`";
    assert!(problems[0].starts_with(expected), "{problems:?}");
}
