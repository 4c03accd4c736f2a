//! Replacements above the limit of a pool that has a surge.

use std::thread;

use serde_json::{Value, json};

use super::gated::Gated;
use super::objects::{CLAIMS, POOLS, pool};
use crate::support::nodeclaim::node_claim as claim;
use crate::support::wait::wait_for;

/// A pool of three nodes, all of which exist, and a gate before it.
fn full(name: &str) -> Gated {
    let gated = Gated::start(&format!("{name}-"), &[]);
    gated.apply(&pool(name, Some(3)));
    for letter in ["a", "b", "c"] {
        gated.create(&claim(&format!("{name}-{letter}"), name));
    }
    gated
}

fn surge(gated: &Gated, name: &str) {
    let annotations = json!({"poolgate.dev/surge": "1"});
    let change = json!({"metadata": {"annotations": annotations}});
    gated.client.merge(&format!("{POOLS}/{name}"), &change);
}

/// Writes these conditions as Karpenter does.
fn set_conditions(gated: &Gated, claim: &str, conditions: &[(&str, &str)]) {
    let condition = |(kind, status): &(&str, &str)| -> Value {
        json!({
            "type": kind,
            "status": status,
            "reason": if *kind == "DisruptionReason" { "Drifted" } else { kind },
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    let conditions: Vec<Value> = conditions.iter().map(condition).collect();
    let change = json!({"status": {"conditions": conditions}});
    gated.client.merge(&format!("{CLAIMS}/{claim}/status"), &change);
}

fn uid(gated: &Gated, claim: &str) -> Value {
    let stored = gated.client.get(&format!("{CLAIMS}/{claim}"));
    stored.expect("a claim")["metadata"]["uid"].clone()
}

#[test]
fn one_more_is_admitted_while_a_node_is_replaced_and_none_otherwise() {
    let gated = full("surged");
    let mut number = 0;
    let mut try_one = || {
        number += 1;
        let name = format!("surged-more-{number}");
        gated.try_create(&claim(&name, "surged")).map(|()| name)
    };
    // The pool's claims have been listed without what is written below.
    let denied = try_one().expect_err("no surge yet");
    assert!(!denied.contains("surge of"), "{denied}");
    surge(&gated, "surged");
    let denied = try_one().expect_err("nothing to replace");
    assert!(
        denied.contains(
            "NodePool surged is at its node limit of 3 (Hard): 3 NodeClaims count towards it. Its surge of 1 admits \
             one more for each node that Karpenter is replacing, now 0. Raise the limit"
        ),
        "{denied}"
    );
    let disrupted = ("DisruptionReason", "True");
    set_conditions(&gated, "surged-a", &[disrupted, ("Initialized", "Unknown")]);
    try_one().expect_err("a node that has never worked");
    let rebooting = ("Rebooting", "True");
    set_conditions(
        &gated,
        "surged-a",
        &[disrupted, rebooting, ("Initialized", "True")],
    );
    try_one().expect_err("a node that stays");
    let initialized = ("Initialized", "True");
    set_conditions(&gated, "surged-a", &[disrupted, initialized]);
    set_conditions(&gated, "surged-b", &[disrupted, initialized]);
    gated.dry_run(&claim("surged-dry", "surged")).expect("one more");
    let admitted = try_one().expect("one more");
    assert_eq!(gated.ledger("surged")["limit"]["surge"], 1);
    assert_eq!(gated.ledger("surged")["surged"], json!([uid(&gated, &admitted)]));
    let denied = try_one().expect_err("no second one");
    assert!(
        denied.contains(": 4 NodeClaims count") || denied.contains("1 place is held by a creation"),
        "{denied}"
    );
    assert!(denied.contains("Its surge of 1 admits one more"), "{denied}");
    gated.assert_metric("poolgate_gate_surged_total{nodepool=\"surged\"} 1");

    // The node that it replaces goes: it takes that place.
    gated.delete("surged-a");
    wait_for("the surge to end", || {
        gated.ledger("surged").get("surged").is_none().then_some(())
    });
    assert_eq!(gated.claims("surged"), 3);
    let next = try_one().expect("another node is being replaced");
    assert_eq!(gated.ledger("surged")["surged"], json!([uid(&gated, &next)]));
    // Karpenter calls it off.
    set_conditions(&gated, "surged-b", &[("DisruptionReason", "False"), initialized]);
    gated.delete(&next);
    try_one().expect_err("nothing is being replaced");
}

#[test]
fn a_crowd_that_comes_while_a_node_is_replaced_gets_one_place_above_the_limit() {
    let gated = full("pressed");
    surge(&gated, "pressed");
    let conditions = [("DisruptionReason", "True"), ("Initialized", "True")];
    set_conditions(&gated, "pressed-a", &conditions);
    set_conditions(&gated, "pressed-b", &conditions);
    let created = thread::scope(|scope| {
        let creators: Vec<_> = (0..12)
            .map(|number| {
                let gated = &gated;
                let one = claim(&format!("pressed-more-{number}"), "pressed");
                scope.spawn(move || gated.try_create(&one).is_ok())
            })
            .collect();
        let created = creators
            .into_iter()
            .map(|creator| creator.join().expect("a creator"));
        created.filter(|created| *created).count()
    });
    assert_eq!((created, gated.claims("pressed")), (1, 4));
}
