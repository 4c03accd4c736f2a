//! Histories that are judged by hand.

use std::time::Duration;

use serde_json::{Value, json};

use super::history::{Checker, Event, Kind};

const LIMIT: usize = 4;

/// A NodePool with a limit of four and a surge of one.
fn pool(uid: &str) -> Value {
    let annotations = json!({"poolgate.dev/surge": "1"});
    json!({
        "metadata": {"name": "blue", "uid": uid, "annotations": annotations},
        "spec": {"limits": {"nodes": LIMIT.to_string()}},
    })
}

/// A NodeClaim of it. Karpenter replaces the first one, unless it is being deleted.
fn claim(number: usize, is_deleted: bool) -> Value {
    let conditions = if number == 0 {
        json!([{"type": "Initialized", "status": "True"}, {"type": "DisruptionReason", "status": "True"}])
    } else {
        json!([])
    };
    let deleted = is_deleted.then_some("2026-01-05T00:00:00Z");
    json!({
        "metadata": {
            "name": format!("blue-{number}"), "uid": format!("uid-{number}"), "deletionTimestamp": deleted,
            "labels": {"karpenter.sh/nodepool": "blue"},
        },
        "status": {"conditions": conditions},
    })
}

fn ledger(of: &str, reservations: &Value, is_closed: bool) -> Value {
    let text =
        json!({"version": 1, "seen": 0, "reservations": reservations, "closed": is_closed}).to_string();
    json!({
        "metadata": {"name": format!("poolgate-ledger-{of}"), "ownerReferences": [{"kind": "NodePool", "uid": of}]},
        "data": {"nodepool": "blue", "ledger.json": text},
    })
}

/// What the checker says of these events, one a second.
fn judge(events: impl IntoIterator<Item = Event>) -> Vec<String> {
    let mut checker = Checker::default();
    for (second, event) in (0..).zip(events) {
        let _ = checker.see(Duration::from_secs(second), &event);
    }
    checker.violations
}

fn stored(kind: Kind, before: Option<Value>, now: Option<Value>) -> Event {
    Event::Stored { kind, before, now }
}

fn review(call: u64, claim: &str) -> Event {
    Event::Review {
        call,
        claim: claim.into(),
        pool: "blue".into(),
    }
}

fn full(call: u64) -> Event {
    let refusal = Some("NodePool blue is at its node limit of 4 (Hard)".into());
    Event::Answer { call, refusal }
}

/// Seed 1795851924223 of the simulation at fb189d18, pool blue: while a creation waited, the pool went, and with it its
/// claims, so that the surge ended. The gate denied by the limit that it had read, and the count was right.
#[test]
fn a_gate_may_deny_by_the_limit_of_a_pool_that_went_meanwhile() {
    let begin = || {
        let claims = (0..LIMIT).map(|number| stored(Kind::Claim, None, Some(claim(number, false))));
        let pool = [stored(Kind::Pool, None, Some(pool("a")))];
        pool.into_iter().chain(claims).chain([review(1, "x")])
    };
    let gone = stored(Kind::Pool, Some(pool("a")), None);
    let deleted = stored(Kind::Claim, Some(claim(0, false)), Some(claim(0, true)));
    assert_eq!(
        judge(begin().chain([gone.clone(), deleted, full(1)])),
        Vec::<String>::new()
    );
    // There was a place for the surge, as long as a claim was being replaced.
    assert_eq!(judge(begin().chain([gone, full(1)])).len(), 1);
    assert_eq!(judge(begin().chain([full(1)])).len(), 1);
}

/// A ledger of nothing excepts what was reviewed before it only if somebody has deleted the one before.
#[test]
fn the_first_ledger_of_a_pool_excepts_nothing() {
    let created = |uid: &str| {
        let mut created = claim(1, false);
        created["metadata"]["uid"] = uid.into();
        stored(Kind::Claim, None, Some(created))
    };
    let mut small = pool("b");
    small["spec"]["limits"]["nodes"] = "1".into();
    small["metadata"]["annotations"] = json!({});
    let open = |of: &str| stored(Kind::Ledger, None, Some(ledger(of, &json!({}), false)));
    let run = |between: Vec<Event>| {
        let before = [stored(Kind::Pool, None, Some(small.clone())), review(1, "x")];
        let after = [open("b"), review(2, "y"), created("x"), created("y")];
        judge(before.into_iter().chain(between).chain(after))
    };
    let lost = |of: &str| stored(Kind::Ledger, Some(ledger(of, &json!({"x": 1}), false)), None);
    assert_eq!(run(vec![]).len(), 1, "nobody has deleted a ledger");
    assert_eq!(
        run(vec![lost("a")]).len(),
        1,
        "that of the pool before is collected"
    );
    assert_eq!(
        run(vec![open("b"), lost("b")]),
        Vec::<String>::new(),
        "somebody has"
    );
}
