//! How often a review allocates, and how much: a check of its cost that does not depend on how busy the machine is.

#![cfg(test)]

use allocation_counter::measure;
use poolgate_core::json::read;
use poolgate_core::karpenter::{ApiVersion, Karpenter};
use poolgate_core::policy::Policy;
use poolgate_core::review::{REVIEWED, Request, STORED_OUTLINE, Subject, review};
use serde_json::Value;

/// What the review of `bench/review.json` took when this was last changed: allocations, and KiB in all of them. If
/// you change it on purpose, write the new figures.
const RECORDED: (u64, u64) = (300, 43);

/// How far a figure may be from the recorded one, in percent.
const TOLERANCE: u64 = 10;

#[test]
fn a_review_allocates_what_it_did_when_this_was_recorded() {
    let body: Value = serde_json::from_str(include_str!("../../bench/review.json")).expect("a review");
    let text = |field: &str| body["request"][field].to_string();
    let (object, old) = (text("object"), text("oldObject"));
    let (policy, karpenter) = (Policy::default(), Karpenter::default());
    let review_of = || {
        let object = read(&object, REVIEWED).expect("an object");
        let old = read(&old, STORED_OUTLINE).expect("an object");
        let request = Request {
            subject: Subject::NodePool(ApiVersion::V1),
            object: &object,
            old: Some(&old),
            claims: None,
        };
        assert!(!review(&request, &policy, &karpenter).report.denies());
    };
    review_of();
    let taken = measure(review_of);
    let taken = (taken.count_total, taken.bytes_total / 1024);
    let is_near = |taken: u64, recorded: u64| taken.abs_diff(recorded) * 100 <= recorded * TOLERANCE;
    assert!(
        is_near(taken.0, RECORDED.0) && is_near(taken.1, RECORDED.1),
        "a review takes {} allocations of {} KiB in all; recorded are {} of {} KiB",
        taken.0,
        taken.1,
        RECORDED.0,
        RECORDED.1
    );
}
