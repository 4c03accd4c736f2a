//! Budgets of whole pools: known cases, and the results of all functions compared with each other.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::facts::ApiVersion;
use crate::json::Json;
use crate::pool::NodePool;
use crate::value::nodes::BudgetNodes;

fn parsed(budgets: &Value) -> Result<Budgets, UnreadableBudget> {
    let object = json!({"spec": {"disruption": {"budgets": budgets}}});
    Budgets::parse(&NodePool::view(ApiVersion::V1, &Json::from(&object)))
}

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn allowed(budgets: &Value, nodes: u32, at: &str) -> Allowance {
    parsed(budgets)
        .unwrap()
        .allowance(Reason::Drifted, nodes, time(at))
}

fn office() -> Value {
    json!([{"nodes": "20%"}, {"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"}])
}

#[test]
fn a_share_is_rounded_up_and_a_count_is_taken_as_it_is() {
    for (written, nodes, expected) in [
        ("10%", 0, 0),
        ("10%", 1, 1),
        ("10%", 10, 1),
        ("10%", 11, 2),
        ("0%", 50, 0),
        ("100%", 7, 7),
        ("100%", u32::MAX, u32::MAX),
        ("5", 2, 5),
        ("0", 2, 0),
    ] {
        let budgets = parsed(&json!([{"nodes": written}])).unwrap();
        let allowed = budgets.iter().next().and_then(|budget| budget.allows(nodes));
        assert_eq!(allowed, Some(expected), "{written} of {nodes}");
    }
}

#[test]
fn a_window_is_open_from_its_first_instant_to_just_before_its_last() {
    for (at, nodes, budget) in [
        ("2026-01-05T08:59:59.999999999Z", 3, 0),
        ("2026-01-05T09:00:00Z", 0, 1),
        ("2026-01-05T16:59:59.999999999Z", 0, 1),
        ("2026-01-05T17:00:00Z", 3, 0),
        ("2026-01-10T12:00:00Z", 3, 0),
    ] {
        assert_eq!(
            allowed(&office(), 11, at),
            Allowance::Limited { nodes, budget },
            "{at}"
        );
    }
}

#[test]
fn one_schedule_that_cannot_be_read_stops_every_reason() {
    let budgets = json!([
        {"nodes": "50%"},
        {"nodes": "5", "reasons": ["Empty"], "schedule": "0 0 * * sat-sun", "duration": "8h"},
    ]);
    let noon = "2026-01-05T12:00:00Z";
    assert_eq!(allowed(&budgets, 10, noon), Allowance::Blocked { budget: 1 });
    let change = parsed(&budgets)
        .unwrap()
        .next_change(Reason::Drifted, 10, time(noon));
    assert_eq!(change, Change::Never);
}

#[test]
fn a_schedule_that_never_fires_holds_always_and_a_window_without_length_never() {
    let never_fires = json!([{"nodes": "0", "schedule": "0 0 31 2 *", "duration": "8h"}]);
    let limited = Allowance::Limited { nodes: 0, budget: 0 };
    assert_eq!(allowed(&never_fires, 10, "2026-01-05T12:00:00Z"), limited);
    for (schedule, duration) in [("@daily", "0m"), ("@every 2h      ", "1h")] {
        let never_open = json!([{"nodes": "0", "schedule": schedule, "duration": duration}]);
        let read = parsed(&never_open).unwrap();
        let at = time("2026-01-05T00:00:00Z");
        assert_eq!(read.allowance(Reason::Empty, 10, at), Allowance::Unlimited);
        assert_eq!(read.next_change(Reason::Empty, 10, at), Change::Never);
    }
}

#[test]
fn without_budgets_the_default_of_ten_per_cent_holds_and_an_empty_list_limits_nothing() {
    let at = "2026-01-05T12:00:00Z";
    for object in [
        json!({}),
        json!({"spec": {"disruption": {}}}),
        json!({"spec": {"disruption": {"budgets": null}}}),
    ] {
        let budgets = Budgets::parse(&NodePool::view(ApiVersion::V1, &Json::from(&object))).unwrap();
        assert!(!budgets.are_written());
        let limited = Allowance::Limited { nodes: 2, budget: 0 };
        assert_eq!(budgets.allowance(Reason::Empty, 11, time(at)), limited);
    }
    assert_eq!(allowed(&json!([]), 11, at), Allowance::Unlimited);
}

#[test]
fn of_equal_budgets_the_first_binds_and_only_those_for_the_reason_count() {
    let budgets = json!([
        {"nodes": "0", "reasons": ["Empty"]}, {"nodes": "2"}, {"nodes": "10%"}, {"nodes": "2", "reasons": ["Drifted"]},
    ]);
    let at = "2026-01-05T12:00:00Z";
    let limited = |nodes, budget| Allowance::Limited { nodes, budget };
    assert_eq!(allowed(&budgets, 20, at), limited(2, 1));
    assert_eq!(allowed(&budgets, 10, at), limited(1, 2));
}

#[test]
fn a_change_is_reported_with_what_comes_of_it() {
    let budgets = parsed(&office()).unwrap();
    let next = |at: &str| budgets.next_change(Reason::Empty, 10, time(at));
    assert_eq!(
        next("2026-01-05T10:00:00Z"),
        Change::At {
            at: time("2026-01-05T17:00:00Z"),
            to: Allowance::Limited { nodes: 2, budget: 0 }
        }
    );
    assert_eq!(
        next("2026-01-09T17:00:00Z"),
        Change::At {
            at: time("2026-01-12T09:00:00Z"),
            to: Allowance::Limited { nodes: 0, budget: 1 }
        }
    );
}

#[test]
fn a_change_far_away_is_not_searched_for_without_end() {
    let at = time("2026-02-01T12:00:00Z");
    let next = |schedule: &str, duration: &str| {
        let budgets = json!([{"nodes": "0", "schedule": schedule, "duration": duration}]);
        parsed(&budgets).unwrap().next_change(Reason::Empty, 10, at)
    };
    assert_eq!(
        next("0 0 29 2 *", "24h"),
        Change::At {
            at: time("2028-02-29T00:00:00Z"),
            to: Allowance::Limited { nodes: 0, budget: 0 }
        }
    );
    assert_eq!(
        next("0 0 1 2 *", "8759h"),
        Change::At {
            at: time("2027-02-01T00:00:00Z") - SignedDuration::from_hours(1),
            to: Allowance::Unlimited
        }
    );
    // Every minute of all days but the last of some months: too many fires for one search.
    let Change::NotBefore(until) = next("* * 1-30 * *", "23h") else {
        panic!("the search has a bound");
    };
    assert!(until > at && until < time("2026-04-30T00:00:00Z"), "{until}");
}

#[test]
fn budgets_keep_their_place_when_a_neighbour_is_of_the_wrong_type() {
    let object = json!({"spec": {"disruption": {"budgets": [7, {"nodes": 5}, {"nodes": "1"}]}}});
    let budgets = Budgets::parse_all(&NodePool::view(ApiVersion::V1, &Json::from(&object)));
    let paths: Vec<_> = budgets
        .iter()
        .map(|budget| budget.path("nodes").to_string())
        .collect();
    assert_eq!(
        paths,
        [0, 1, 2].map(|index| format!("spec.disruption.budgets[{index}].nodes"))
    );
    let nodes: Vec<_> = budgets.iter().map(Budget::nodes).collect();
    assert_eq!(
        nodes,
        [None, Some(BudgetNodes::Count(5)), Some(BudgetNodes::Count(1))]
    );
}

#[test]
fn what_the_api_server_rejects_is_named_with_its_place() {
    for (budgets, wanted) in [
        (
            json!([{"nodes": 5}]),
            "spec.disruption.budgets[0].nodes: it is of the wrong type",
        ),
        (
            json!([{}, null]),
            "spec.disruption.budgets[1]: it is not an object",
        ),
        (json!({}), "spec.disruption.budgets: it is of the wrong type"),
        (
            json!([{"schedule": "@daily"}]),
            "spec.disruption.budgets[0].duration: it is required with schedule",
        ),
        (
            json!([{"duration": "1h"}]),
            "spec.disruption.budgets[0].schedule: it is required with duration",
        ),
        (
            json!([{"reasons": ["drifted"]}]),
            "spec.disruption.budgets[0].reasons: it is not a list of Karpenter's reasons",
        ),
        (
            json!([{"schedule": "@daily", "duration": "1d"}]),
            "spec.disruption.budgets[0].duration: days and weeks are not supported, only hours and minutes",
        ),
    ] {
        assert_eq!(parsed(&budgets).unwrap_err().to_string(), wanted);
    }
}

/// A budget whose windows begin and end at whole minutes.
fn budget() -> impl Strategy<Value = Value> {
    let schedule = prop::sample::select(vec![
        "0 9 * * mon-fri",
        "30 22 * * *",
        "*/20 8-17 * * 1-5",
        "0 0 1,15 * *",
        "15 */6 * * sat,sun",
        "0 12 7 * wed",
    ]);
    let window = prop::option::of((schedule, prop::sample::select(vec!["10m", "8h", "1h30m", "30h"])));
    let reasons = prop::sample::select(vec![
        json!(null),
        json!(["Empty"]),
        json!(["Drifted", "Underutilized"]),
    ]);
    let nodes = prop::sample::select(vec!["0", "1", "5", "10%", "35%"]);
    (nodes, reasons, window).prop_map(|(nodes, reasons, window)| {
        let mut budget = json!({"nodes": nodes, "reasons": reasons});
        if let Some((schedule, duration)) = window {
            budget["schedule"] = schedule.into();
            budget["duration"] = duration.into();
        }
        budget
    })
}

/// What is allowed in each minute from an instant on, computed minute by minute.
fn minutes(budgets: &Budgets, reason: Reason, from: Timestamp, count: i64) -> Vec<Option<u32>> {
    (0..count)
        .map(|minute| {
            let at = from + SignedDuration::from_mins(minute);
            budgets.allowance(reason, 12, at).nodes()
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_week_its_steps_and_the_next_change_are_what_asking_every_minute_finds(
        budgets in prop::collection::vec(budget(), 0..4), day in 0_i64..20_000, hour in 0_i64..24,
    ) {
        let budgets = parsed(&Value::Array(budgets)).unwrap();
        let from = time("2000-01-01T00:00:00Z") + SignedDuration::from_hours(day * 24 + hour);
        let reasons = [Reason::Empty, Reason::Drifted];
        let week = budgets.week(&reasons, 12, from);
        for (reason, row) in reasons.into_iter().zip(&week) {
            let minutes = minutes(&budgets, reason, from, 7 * 24 * 60);
            prop_assert_eq!(row.len(), HOURS);
            for (range, hour) in row.iter().zip(minutes.chunks(60)) {
                let numbers = || hour.iter().map(|nodes| nodes.unwrap_or(u32::MAX));
                let number = |allowance: Allowance| Some(allowance.nodes().unwrap_or(u32::MAX));
                prop_assert_eq!(number(range.lowest), numbers().min());
                prop_assert_eq!(number(range.highest), numbers().max());
            }
            let until = from + SignedDuration::from_hours(7 * 24);
            let steps = budgets.steps(reason, 12, from, until);
            let found: Vec<_> = steps.iter().map(|(at, allowance)| (*at, allowance.nodes())).collect();
            let changes = (0..minutes.len()).filter(|at| *at == 0 || minutes[*at] != minutes[*at - 1]);
            let changes = changes.map(|at| (from + SignedDuration::from_mins(at.try_into().unwrap()), minutes[at]));
            prop_assert_eq!(found, changes.collect::<Vec<_>>());
            let first = minutes.iter().position(|nodes| *nodes != minutes[0]);
            match (budgets.next_change(reason, 12, from), first) {
                (Change::At { at, to }, Some(first)) => {
                    prop_assert_eq!(at, from + SignedDuration::from_mins(i64::try_from(first).unwrap()));
                    prop_assert_eq!(to.nodes(), minutes[first]);
                }
                (Change::At { at, .. }, None) => prop_assert!(at >= from + SignedDuration::from_hours(7 * 24)),
                (Change::Never, first) => prop_assert_eq!(first, None),
                (Change::NotBefore(until), first) => {
                    // Alternating windows of equal numbers.
                    prop_assert!(until > from + SignedDuration::from_hours(7 * 24));
                    prop_assert_eq!(first, None);
                }
            }
        }
    }

    #[test]
    fn any_budgets_are_read_or_rejected(
        nodes in r"[0-9]{0,4}%?|\PC{0,6}", schedule in r"[0-9*,/ -]{0,14}|@[a-z]{0,8}|\PC{0,9}",
        duration in r"[0-9]{1,3}[hm]|\PC{0,5}", at in 631_152_000_i64..3_786_912_000,
    ) {
        let one = json!([{"nodes": nodes, "schedule": schedule, "duration": duration}]);
        if let Ok(budgets) = parsed(&one) {
            let at = Timestamp::from_second(at).unwrap();
            let _ = budgets.next_change(Reason::Empty, 10, at);
        }
    }
}
