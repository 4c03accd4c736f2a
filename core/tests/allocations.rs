//! How often a review allocates, and how much: a check of its cost that does not depend on how busy the machine is.

#![cfg(test)]

use allocation_counter::measure;
use poolgate_core::json::read;
use poolgate_core::karpenter::{ApiVersion, Stored, TargetKarpenter};
use poolgate_core::policy::Policy;
use poolgate_core::review::{REVIEWED, Request, STORED_OUTLINE, Subject, review};
use serde_json::{Value, json};

/// What the review of `bench/review.json` took when this was last changed: allocations, and KiB in all of them. Then the
/// same with an error, for which all of the stored object is read. If you change them on purpose, write the new figures.
const RECORDED: [(u64, u64); 2] = [(300, 43), (386, 59)];

/// Most allocations, and KiB in all of them, of a review of 50 budgets with a schedule each: the minutes of a budget's week
/// are computed once, its fire times never.
const MOST_WITH_SCHEDULES: (u64, u64) = (1200, 250);

/// How far a figure may be from the recorded one, in percent.
const TOLERANCE: u64 = 10;

#[test]
fn a_review_allocates_what_it_did_when_this_was_recorded() {
    let body: Value = serde_json::from_str(include_str!("../../bench/review.json")).expect("a review");
    let mut request = body["request"].clone();
    for recorded in RECORDED {
        let taken = taken_by(&request);
        let is_near = |taken: u64, recorded: u64| taken.abs_diff(recorded) * 100 <= recorded * TOLERANCE;
        assert!(
            is_near(taken.0, recorded.0) && is_near(taken.1, recorded.1),
            "a review takes {} allocations of {} KiB in all; recorded are {} of {} KiB",
            taken.0,
            taken.1,
            recorded.0,
            recorded.1
        );
        request["object"]["spec"]["weight"] = Value::from(1000);
    }
}

#[test]
fn a_review_computes_the_week_of_a_budget_once() {
    let body: Value = serde_json::from_str(include_str!("../../bench/review.json")).expect("a review");
    let mut request = body["request"].clone();
    let budget = |number: u32| {
        let schedule = format!("{number} {} * * {}", number % 24, number % 7);
        json!({"nodes": format!("{number}%"), "schedule": schedule, "duration": "30m", "reasons": ["Empty", "Drifted"]})
    };
    request["object"]["spec"]["disruption"]["budgets"] = (0..50).map(budget).collect();
    let (count, kib) = taken_by(&request);
    let (most, most_kib) = MOST_WITH_SCHEDULES;
    assert!(
        count <= most && kib <= most_kib,
        "a review takes {count} allocations of {kib} KiB in all; at most {most} of {most_kib} KiB"
    );
}

/// The allocations of a review, and KiB in all of them.
fn taken_by(request: &Value) -> (u64, u64) {
    let [object, stored] = ["object", "oldObject"].map(|field| request[field].to_string());
    let is_denied = request["object"]["spec"]["weight"] == 1000;
    let (policy, karpenter) = (Policy::default(), TargetKarpenter::default());
    let review_of = || {
        let request = Request {
            subject: Subject::NodePool(ApiVersion::V1),
            object: &read(&object, REVIEWED).expect("an object"),
            old: Some(Stored::Outlined {
                outline: &read(&stored, STORED_OUTLINE).expect("an object"),
                text: stored.as_bytes(),
                read: |text| read(str::from_utf8(text).ok()?, REVIEWED).ok(),
            }),
            claims: None,
            at: jiff::Timestamp::default(),
        };
        assert_eq!(review(&request, &policy, &karpenter).report.denies(), is_denied);
    };
    review_of();
    let taken = measure(review_of);
    (taken.count_total, taken.bytes_total / 1024)
}
