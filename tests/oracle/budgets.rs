//! The oracle confirms what is known of Karpenter's budgets, and `poolgate_core::budget` agrees with the oracle.

use jiff::{SignedDuration, Timestamp};
use poolgate_core::budget::{Allowance, Budgets, Reason};
use poolgate_core::facts::ApiVersion;
use poolgate_core::json::Json;
use poolgate_core::pool::NodePool;
use poolgate_core::value::cron::Schedule;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use super::effort::Effort;
use super::pools;
use super::program::Oracle;
use super::words::{self, one_of};

/// The reasons that the linked Karpenter knows.
const REASONS: [Reason; 4] = Reason::ALL;

/// Karpenter's number if nothing limits.
const UNLIMITED: u64 = 2_147_483_647;

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

/// At random moments, half of them around the start and end of windows.
#[test]
fn poolgate_computes_budgets_as_karpenter_does() {
    let effort = Effort::wanted(300, 500);
    let moments = if effort.cases >= 500 { 1_000 } else { 10 };
    let mut oracle = Oracle::start();
    let (mut compared, mut blocked, mut limited) = (0_u64, 0_u64, 0_u64);
    for number in effort.first..effort.first + effort.cases {
        let mut rng = StdRng::seed_from_u64(effort.seed.rotate_left(32) ^ number);
        let object = json!({"spec": {"disruption": {"budgets": random_budgets(&mut rng)}}});
        let budgets = Budgets::parse(&NodePool::view(ApiVersion::V1, &Json::from(&object)))
            .expect("the CRD takes these budgets");
        let asked: Vec<(Timestamp, u32)> = (0..moments)
            .map(|_| (moment(&mut rng, &object), rng.random_range(0..300)))
            .collect();
        let questions: Vec<Value> = asked
            .iter()
            .map(|(at, nodes)| json!({"kind": "budgets", "object": object, "at": at.to_string(), "nodes": nodes}))
            .collect();
        for ((at, nodes), answer) in asked.into_iter().zip(oracle.ask(&questions)) {
            let answer = answer.given();
            for (place, budget) in budgets.iter().enumerate() {
                let theirs = &answer["budgets"][place]["active"];
                assert_eq!(
                    theirs,
                    budget.is_active(at),
                    "seed {}, case {number}, budget {place} at {at}: {object}",
                    effort.seed
                );
            }
            for reason in REASONS {
                let ours = budgets.allowance(reason, nodes, at);
                let theirs = &answer["allowed"][reason.as_str()];
                assert_eq!(
                    (theirs["nodes"].as_u64(), theirs["error"].is_string()),
                    (
                        Some(ours.nodes().map_or(UNLIMITED, u64::from)),
                        matches!(ours, Allowance::Blocked { .. })
                    ),
                    "seed {}, case {number}, {} of {nodes} nodes at {at}: {object}",
                    effort.seed,
                    reason.as_str()
                );
                compared += 1;
                blocked += u64::from(matches!(ours, Allowance::Blocked { .. }));
                limited += u64::from(matches!(ours, Allowance::Limited { .. }));
            }
        }
    }
    // Comparing pools that are all the same would prove nothing. With this many pools, chance does not make them
    // the same.
    if effort.cases >= 300 {
        let unlimited = compared - blocked - limited;
        assert!(
            blocked > 0 && limited > 0 && unlimited > 0,
            "{blocked}, {limited}, {unlimited}"
        );
    }
}

/// Budgets that the CRD accepts, a few of them with a schedule that Karpenter cannot read.
fn random_budgets(rng: &mut StdRng) -> Value {
    let count = rng.random_range(0..5);
    let budgets = (0..count).map(|_| {
        let mut budget = pools::budget(rng, ApiVersion::V1);
        if rng.random_bool(0.3) {
            budget["nodes"] = format!("{}%", rng.random_range(0..=100)).into();
        }
        if budget.get("schedule").is_some() {
            let hours = rng.random_range(0..40);
            let any = format!("{hours}h{}m", rng.random_range(0..90));
            budget["duration"] = one_of(rng, &["10m", "8h", "24h", "700h", "2562047h47m", &any]).into();
            budget["schedule"] = schedule(rng).into();
        }
        budget
    });
    budgets.collect()
}

fn schedule(rng: &mut StdRng) -> String {
    if rng.random_bool(0.15) {
        return words::schedule(rng);
    }
    let mut field = |low: u8, high: u8| match rng.random_range(0..4) {
        0 => "*".to_owned(),
        1 => format!("*/{}", rng.random_range(1..=high)),
        2 => format!("{low}-{}", rng.random_range(low..=high)),
        _ => rng.random_range(low..=high).to_string(),
    };
    [
        field(0, 59),
        field(0, 23),
        field(1, 31),
        field(1, 12),
        field(0, 6),
    ]
    .join(" ")
}

/// A moment at which budgets are computed.
fn moment(rng: &mut StdRng, object: &Value) -> Timestamp {
    let random = Timestamp::new(
        rng.random_range(631_152_000..3_786_912_000),
        rng.random_range(0..1_000_000_000),
    )
    .expect("within the calendar");
    let budgets = object["spec"]["disruption"]["budgets"]
        .as_array()
        .expect("a list");
    let border = (!budgets.is_empty() && rng.random_bool(0.5))
        .then(|| &budgets[rng.random_range(0..budgets.len())])
        .and_then(|budget| border(rng, budget, random));
    border.unwrap_or(random)
}

/// A start or an end of the budget's windows, or an instant next to it.
fn border(rng: &mut StdRng, budget: &Value, near: Timestamp) -> Option<Timestamp> {
    let schedule = Schedule::parse(budget["schedule"].as_str()?).ok()?;
    let duration: SignedDuration = match budget["duration"].as_str()? {
        "8h" => SignedDuration::from_hours(8),
        "24h" => SignedDuration::from_hours(24),
        "10m" => SignedDuration::from_mins(10),
        _ => SignedDuration::ZERO,
    };
    let fire = schedule.next_after(near)?;
    let border = if rng.random_bool(0.5) {
        fire
    } else {
        fire + duration
    };
    let border = border + SignedDuration::from_nanos(rng.random_range(-1..=1));
    poolgate_core::budget::is_supported(border).then_some(border)
}
