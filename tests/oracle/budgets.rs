//! What the oracle says of budgets is what is known of Karpenter: the ground for comparing poolgate with it.

use serde_json::{Value, json};

use super::program::Oracle;

fn ask(oracle: &mut Oracle, budgets: &Value, at: &str, nodes: u32) -> Value {
    let object = json!({"spec": {"disruption": {"budgets": budgets}}});
    oracle
        .ask_one(json!({"kind": "budgets", "object": object, "at": at, "nodes": nodes}))
        .given()
}

#[test]
fn a_window_is_open_from_its_first_instant_to_just_before_its_last() {
    let mut oracle = Oracle::start();
    let budgets = json!([{"nodes": "10%", "schedule": "0 9 * * *", "duration": "8h"}]);
    for (at, active, allowed) in [
        ("2026-01-05T08:59:59.999999999Z", false, 2_147_483_647_u32),
        ("2026-01-05T09:00:00Z", true, 2),
        ("2026-01-05T16:59:59.999999999Z", true, 2),
        ("2026-01-05T17:00:00Z", false, 2_147_483_647),
    ] {
        let answer = ask(&mut oracle, &budgets, at, 11);
        assert_eq!(answer["budgets"], json!([{"active": active}]), "{at}");
        assert_eq!(answer["allowed"]["Drifted"]["nodes"], allowed, "{at}");
    }
}

#[test]
fn a_schedule_that_cannot_be_read_stops_every_reason() {
    let mut oracle = Oracle::start();
    let budgets = json!([
        {"nodes": "5", "reasons": ["Empty"], "schedule": "0 0 * * sat-sun", "duration": "8h"},
        {"nodes": "50%"},
    ]);
    let answer = ask(&mut oracle, &budgets, "2026-01-05T09:00:00Z", 10);
    for reason in ["Empty", "Drifted", "Underutilized"] {
        assert_eq!(answer["allowed"][reason]["nodes"], 0, "{answer}");
        assert!(answer["allowed"][reason]["error"].is_string(), "{answer}");
    }
    assert_eq!(answer["budgets"][1], json!({"active": true}));
}

#[test]
fn a_reason_is_limited_by_its_own_budgets_and_those_for_all() {
    let mut oracle = Oracle::start();
    let budgets =
        json!([{"nodes": "3", "reasons": ["Empty"]}, {"nodes": "50%"}, {"nodes": "0", "reasons": []}]);
    let answer = ask(&mut oracle, &budgets, "2026-01-05T09:00:00Z", 10);
    assert_eq!(answer["allowed"]["Empty"], json!({"nodes": 3}));
    assert_eq!(answer["allowed"]["Drifted"], json!({"nodes": 5}));
}
