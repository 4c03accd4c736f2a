//! Which node of a full pool waits for what, and what to type.

use std::sync::Arc;

use poolgate_core::nodelimit::ledger::Ledger;
use poolgate_core::nodelimit::plan::Marks;

use super::*;
use crate::cluster::ledgers::StoredLedger;

/// A Hard pool of two nodes at its limit, with these annotations and these fields in its ledger.
fn full(annotations: &Value, ledger: &Value) -> Facts {
    let mut text = json!({"version": 1, "reservations": {}, "seen": 0});
    let fields = text.as_object_mut().expect("an object");
    fields.extend(ledger.as_object().expect("an object").clone());
    Facts {
        pools: Ok(vec![pool("2", annotations)]),
        claims: Ok(vec![claim("a", None), claim("b", None)]),
        nodes: Ok(vec![node("a", false, false), node("b", false, false)]),
        ledgers: Ok(vec![StoredLedger {
            pool: "general".into(),
            version: 7,
            uid: "ledger-1".into(),
            owner: "u-pool".into(),
            ledger: Arc::new(Ledger::parse(&text.to_string()).expect("a ledger")),
            lost: None,
        }]),
        ..well()
    }
}

/// A ledger that lists the claim `a`; the newest was created at noon.
fn listing_a() -> Value {
    json!({"replacement": {
        "uid": "u-a", "claim": "a", "node": "node-a", "reason": "Unhealthy", "newest": now().as_second(),
    }})
}

/// What is said of the pool, in JSON and below the table.
#[track_caller]
fn notes(facts: &Facts) -> Vec<String> {
    let report = Report::of(facts, None);
    let text = table::render(&report, WIDE);
    let notes = as_json::from_report(&report)["nodePools"][0]["notes"].clone();
    let notes: Vec<String> = read(notes);
    for note in &notes {
        assert!(text.contains(&format!("  general: {note}\n")), "{text}");
    }
    notes
}

#[test]
fn the_step_of_a_replacement_is_said() {
    let listed = full(&json!({}), &listing_a());
    let begin = "node-a (NodeClaim a) is being replaced, because it is Unhealthy";
    let expect = |facts: &Facts, expected: &str| {
        let found = notes(facts).into_iter().find(|note| note.starts_with(begin));
        assert_eq!(found, Some(format!("{begin}{expected}")));
    };
    expect(&listed, ". It will be terminated first");

    let deleted = |annotations: &Value| {
        let mut claim = json!({
            "metadata": {"name": "a", "uid": "u-a", "deletionTimestamp": "2026-11-23T12:00:00Z",
                "labels": {"karpenter.sh/nodepool": "general"}, "annotations": annotations},
        });
        claim["status"]["nodeName"] = json!("node-a");
        Facts {
            claims: Ok(vec![claim_of(&claim), claim_b()]),
            ..full(&json!({}), &listing_a())
        }
    };
    let away = ". It has been terminating since 2026-11-23T12:00:00Z, and";
    expect(
        &deleted(&json!({})),
        &format!("{away} its drain has no deadline yet"),
    );
    expect(
        &deleted(&json!({"karpenter.sh/nodeclaim-termination-timestamp": "2026-11-23T12:10:00Z"})),
        &format!("{away} its machine is terminated no later than 2026-11-23T12:10:00Z"),
    );

    let mut gone = Facts {
        claims: Ok(vec![claim_b()]),
        ..full(&json!({}), &listing_a())
    };
    expect(&gone, ". It is gone, and Karpenter must create a new NodeClaim");
    let mut newer = claim("c", None);
    Arc::make_mut(&mut newer.claim).created = now() + SignedDuration::from_secs(1);
    gone.claims.as_mut().expect("claims").push(newer);
    expect(&gone, ". It is gone, and NodeClaim c must be initialized");
    gone.claims = Err("forbidden".into());
    expect(&gone, "");
}

fn claim_b() -> KnownClaim {
    let mut claim = claim("b", None);
    Arc::make_mut(&mut claim.claim).created = now();
    claim
}

#[test]
fn a_stop_is_wrong_and_says_what_ends_it() {
    let facts = full(
        &json!({}),
        &json!({"stopped": {"at": now().as_second(), "template": 5}}),
    );
    let report = Report::of(&facts, None);
    let begin = "NodePool general: replacements have stopped since 2026-11-23T12:00:00Z, because the last one got no new node.";
    let [problem] = report.problems.as_slice() else {
        panic!("{:?}", report.problems)
    };
    assert!(problem.starts_with(begin), "{problem}");
    assert!(
        problem.ends_with("when spec.template changes or NodeClassReady becomes true again"),
        "{problem}"
    );
}

#[test]
fn what_was_admitted_above_the_limit_is_said() {
    assert_eq!(notes(&full(&json!({}), &json!({}))), [""; 0]);
    let facts = full(&json!({}), &json!({"surged": ["u-b"]}));
    let [surged]: [String; 1] = notes(&facts).try_into().expect("a note");
    assert!(
        surged.starts_with("1 admitted above the limit by the surge."),
        "{surged}"
    );
}

/// Marks nodes as those that are not to be repaired now.
fn bar(facts: &mut Facts, held_for: &str) {
    for node in facts.nodes.as_mut().expect("nodes") {
        let annotation = |key: &str| (key == "poolgate.dev/held-for").then_some(held_for);
        Arc::make_mut(&mut node.node).marks = Marks::from_lookups(|_| None, annotation);
    }
}

#[test]
fn nodes_that_wait_for_repair_are_named_with_what_to_type() {
    let barred = |annotations: &Value, held_for: &str| {
        let mut facts = full(annotations, &json!({}));
        bar(&mut facts, held_for);
        facts
    };
    let expect = |facts: &Facts, expected: &str| {
        let begin = "repair is held until there is room for a replacement: node-a, node-b. ";
        assert_eq!(notes(facts).last(), Some(&format!("{begin}{expected}")));
    };
    let patch = r#"To give the pool room: kubectl patch nodepool general --type=merge --patch='{"spec":{"limits":{"nodes":"3"}}}'"#;
    let turn = "Each is terminated first in its turn. If not, the event ReplacementBlocked says why";
    for held_for in ["repair", "node-limit,repair"] {
        expect(&barred(&json!({}), held_for), &format!("{turn}. {patch}"));
    }
    assert_eq!(notes(&barred(&json!({}), "node-limit")), [""; 0]);
    expect(
        &barred(&json!({"poolgate.dev/at-limit": "block"}), "repair"),
        &format!(
            "at-limit is Block, so they wait for room. {patch}. To terminate them first: kubectl annotate nodepool \
             general --overwrite poolgate.dev/at-limit=Repair"
        ),
    );
    expect(
        &barred(&json!({"poolgate.dev/node-limit": "1"}), "repair"),
        &format!(
            "{turn}. To give the pool room: kubectl annotate nodepool general --overwrite poolgate.dev/node-limit=3"
        ),
    );
    expect(
        &barred(&json!({"poolgate.dev/node-limit": "5"}), "repair"),
        "There is room now, so each gets its turn within minutes",
    );
    expect(
        &barred(&json!({"poolgate.dev/node-limit-mode": "Soft"}), "repair"),
        "Another pool is full and denied the replacement. Give that pool room",
    );
    let mut unknown = barred(&json!({"poolgate.dev/node-limit-mode": "Hard"}), "repair");
    unknown.policy = Err("forbidden".into());
    expect(&unknown, &format!("{turn}. {patch}"));
}

#[test]
fn of_many_nodes_that_wait_some_are_named() {
    let mut facts = full(&json!({}), &json!({}));
    facts.nodes = Ok(["a", "b", "c", "d", "e", "f", "g"]
        .map(|name| node(name, true, false))
        .into());
    bar(&mut facts, "repair");
    let [said]: [String; 1] = notes(&facts).try_into().expect("a note");
    assert!(
        said.contains(": node-a, node-b, node-c, node-d, node-e and 2 more. "),
        "{said}"
    );
}

#[test]
fn a_node_of_a_full_pool_that_is_not_ready_is_named_with_what_replaces_it() {
    let broken = |limit: &str, policy: &str| {
        let mut facts = full(&json!({}), &json!({}));
        facts.pools = Ok(vec![pool(limit, &json!({}))]);
        facts.policy = Ok(Some(format!(
            "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\n{policy}"
        )));
        for claim in facts.claims.as_mut().expect("claims") {
            Arc::make_mut(&mut claim.claim).conditions.initialized = true;
        }
        let nodes = facts.nodes.as_mut().expect("nodes");
        for (node, is_ready) in nodes.iter_mut().zip([true, false]) {
            Arc::make_mut(&mut node.node).is_ready = is_ready;
        }
        facts
    };
    let begin = "not ready, and not replaced because the pool is full: node-b.";
    let delete = "To replace it now: kubectl delete nodeclaim b --wait=false";
    for (policy, repair) in [
        (
            "",
            "Karpenter repairs nodes only with the feature gate NodeRepair, which is off by default",
        ),
        (
            "cluster: {featureGates: {NodeRepair: false}}\n",
            "Karpenter repairs no nodes, because the policy declares that the feature gate NodeRepair is off",
        ),
        (
            "cluster: {featureGates: {NodeRepair: true}}\n",
            "Karpenter repairs such a node only after the provider's toleration for the condition has passed",
        ),
    ] {
        assert_eq!(
            notes(&broken("2", policy)),
            [format!("{begin} {repair}. {delete}")]
        );
    }
    assert_eq!(notes(&broken("3", "")), [""; 0], "there is room");
    let mut barred = broken("2", "");
    bar(&mut barred, "repair");
    assert!(notes(&barred).iter().all(|note| !note.starts_with("not ready")));
    let mut starting = broken("2", "");
    for claim in starting.claims.as_mut().expect("claims") {
        Arc::make_mut(&mut claim.claim).conditions.initialized = false;
    }
    assert_eq!(notes(&starting), [""; 0], "they are starting");
}
