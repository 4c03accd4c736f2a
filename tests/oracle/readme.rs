//! Karpenter's own code confirms what the README says about its five mistakes.

use serde_json::{Value, json};

use super::program::{Answer, Oracle};

/// The NodePool that the README applies.
fn pool() -> Value {
    let review = include_str!("../../docs/examples/five-mistakes.review.json");
    let review: Value = serde_json::from_str(review).expect("JSON");
    review["request"]["object"].clone()
}

#[test]
fn the_definition_objects_to_one_of_the_five_mistakes() {
    let answer = Oracle::start()
        .ask_one(json!({"kind": "judge", "object": pool()}))
        .given();
    let fields: Vec<&str> = answer["schema"]
        .as_array()
        .expect("findings")
        .iter()
        .filter_map(|finding| finding["field"].as_str())
        .collect();
    assert_eq!(fields, ["spec.disruption.budgets"], "{answer}");
    let detail = answer["schema"][0]["detail"].as_str().expect("a text");
    assert!(
        detail.contains("'schedule' must be set with 'duration'"),
        "{detail}"
    );
}

#[test]
fn of_the_others_one_stops_disruption_one_freezes_the_pool_and_one_hangs_karpenter() {
    let mut oracle = Oracle::start();
    let mut pool = pool();
    let budgets = pool["spec"]["disruption"]["budgets"]
        .as_array()
        .expect("budgets")
        .clone();
    let mut allowed = |budget: &Value, at: &str| {
        let object = json!({"spec": {"disruption": {"budgets": [budget]}}});
        let question = json!({"kind": "budgets", "object": object, "at": at, "nodes": 20});
        let allowed = oracle.ask_one(question).given()["allowed"].clone();
        ["Drifted", "Empty", "Underutilized"].map(|reason| {
            let allowed = &allowed[reason];
            (allowed["nodes"].as_u64(), allowed["error"].is_string())
        })
    };
    for at in [
        "2026-01-05T10:00:00Z",
        "2026-01-10T23:00:00Z",
        "2027-02-28T12:00:00Z",
    ] {
        assert_eq!(allowed(&budgets[0], at), [(Some(0), true); 3], "sat-sun, {at}");
        assert_eq!(
            allowed(&budgets[1], at),
            [(Some(0), false); 3],
            "31 February, {at}"
        );
    }
    pool["spec"]["disruption"]["budgets"] = json!([]);
    let suffering = oracle.ask_one(json!({"kind": "suffer", "object": pool}));
    assert!(matches!(suffering, Answer::Harmed(_)), "{suffering:?}");
}
