//! Pools that have more nodes than they may.

use serde_json::{Value, json};

use super::{lose_a_node_elsewhere, shared, wait_until_shown};
use crate::support::fleet::Fleet;
use crate::support::recording::{Change, Recording, merged, name};
use crate::support::wait::wait_for;

fn finalizer() -> Value {
    json!({"finalizers": ["example.com/slow-drain"]})
}

#[test]
fn nodes_above_the_limit_are_reported_and_stay() {
    let (mut fleet, reconciler) = shared();
    for node in ["reported-a", "reported-b", "reported-c"] {
        fleet.busy("reported", node);
    }
    fleet.pool("reported", 1, &json!({}));
    let (_, message, _) = wait_for("an event", || {
        let mut events = fleet.events("reported").into_iter();
        events.find(|(reason, ..)| reason == "NodeLimitExceeded")
    });
    assert_eq!(
        message,
        "2 nodes above the limit of 1; none is terminated (over-limit: report)"
    );
    let excess = r#"poolgate_nodepool_excess_nodes{nodepool="reported"}"#;
    wait_until_shown(reconciler, excess, 2.0);
    lose_a_node_elsewhere(&mut fleet, "beside-reported");
    assert_eq!(fleet.living_claims("reported").len(), 3);
}

#[test]
fn the_three_right_nodes_go_and_no_fourth_while_they_drain() {
    let (mut fleet, reconciler) = shared();
    fleet.pool("shrunk", 8, &json!({"poolgate.dev/over-limit": "Terminate"}));
    for number in 1..=8 {
        let name = format!("shrunk-{number}");
        if number == 8 {
            fleet.unlaunched("shrunk", &name, &finalizer());
            continue;
        }
        fleet.claim("shrunk", &name, &finalizer());
        fleet.node("shrunk", &name);
        // One is empty, and one is cheaper than the others.
        let cost = if number == 3 { "-2000000000" } else { "0" };
        let annotations = json!({"controller.kubernetes.io/pod-deletion-cost": cost});
        if number != 5 {
            fleet.pod_with(&name, &format!("on-{name}"), "3", &annotations);
        }
    }
    lose_a_node_elsewhere(&mut fleet, "before-shrinking");
    assert_eq!(fleet.living_claims("shrunk").len(), 8);
    fleet.limit("shrunk", 5);
    let rest = ["shrunk-1", "shrunk-2", "shrunk-4", "shrunk-6", "shrunk-7"];
    wait_for("three claims to be deleted", || {
        (fleet.living_claims("shrunk").len() == 5).then_some(())
    });
    assert_eq!(fleet.living_claims("shrunk"), rest);
    // The finalizers hold the three for as long as they like.
    lose_a_node_elsewhere(&mut fleet, "while-draining");
    assert_eq!(fleet.living_claims("shrunk"), rest);
    assert_eq!(fleet.claims("shrunk").len(), 8);
    let terminated = "poolgate_nodeclaims_terminated_total{nodepool=\"shrunk\",reason=\"over_limit\"}";
    wait_until_shown(reconciler, terminated, 3.0);

    for victim in ["shrunk-3", "shrunk-5", "shrunk-8"] {
        fleet.let_go(victim);
    }
    wait_for("the list of victims to end", || {
        let name = fleet.client().ledger_name("shrunk");
        let path = format!("/api/v1/namespaces/poolgate-ledgers/configmaps/{name}");
        let ledger = fleet.client().get(&path).expect("a ledger");
        let text = ledger["data"]["ledger.json"]
            .as_str()
            .expect("a ledger")
            .to_owned();
        (!text.contains("victims")).then_some(())
    });
    lose_a_node_elsewhere(&mut fleet, "after-shrinking");
    assert_eq!(fleet.living_claims("shrunk"), rest);
}

#[test]
fn a_limit_that_is_raised_again_spares_those_that_were_listed() {
    let (mut fleet, _) = shared();
    fleet.pool("spared", 1, &json!({"poolgate.dev/over-limit": "Terminate"}));
    fleet.claim("spared", "spared-a", &finalizer());
    fleet.claim("spared", "spared-b", &finalizer());
    wait_for("one claim to be deleted", || {
        (fleet.living_claims("spared").len() == 1).then_some(())
    });
    fleet.limit("spared", 5);
    fleet.claim("spared", "spared-c", &finalizer());
    lose_a_node_elsewhere(&mut fleet, "beside-spared");
    assert_eq!(fleet.living_claims("spared").len(), 2);
    for claim in fleet.claims("spared") {
        fleet.let_go(&claim);
    }
}

#[test]
fn a_pool_that_has_lost_its_ledger_loses_no_node_until_a_new_one_is_open() {
    let (mut fleet, _) = shared();
    fleet.pool("lost", 1, &json!({"poolgate.dev/over-limit": "Terminate"}));
    fleet.claim("lost", "lost-a", &finalizer());
    let name = fleet.client().ledger_name("lost");
    let path = &*format!("/api/v1/namespaces/poolgate-ledgers/configmaps/{name}");
    fleet.client().delete(path);
    fleet.claim("lost", "lost-b", &finalizer());
    let stored = |fleet: &Fleet| {
        let ledger = fleet.client().get(path)?;
        let text = ledger["data"]["ledger.json"].as_str().expect("a ledger");
        let content: Value = serde_json::from_str(text).expect("JSON");
        Some((ledger, content))
    };
    let (mut ledger, content) = wait_for("a new ledger", || stored(&fleet));
    assert_eq!(content["closed"], true, "{content}");
    lose_a_node_elsewhere(&mut fleet, "beside-lost");
    assert_eq!(fleet.living_claims("lost").len(), 2);
    assert_eq!(stored(&fleet).expect("a ledger").1, content);

    // As the gate does.
    let open = json!({"version": 1, "reservations": {}, "seen": 1});
    ledger["data"]["ledger.json"] = json!(open.to_string());
    fleet.gate().replace(path, &ledger);
    wait_for("one claim to be deleted", || {
        (fleet.living_claims("lost").len() == 1).then_some(())
    });
    for claim in fleet.claims("lost") {
        fleet.let_go(&claim);
    }
}

/// How many claims are to go before it is raised.
const CLAIMS: usize = 40;

/// How often a limit is raised at most until that happens amid deletions.
const ROUNDS: usize = 10;

#[test]
fn a_limit_that_is_raised_amid_deletions_lets_no_more_than_the_one_on_its_way_go() {
    let (mut fleet, _) = shared();
    for round in 0..ROUNDS {
        let pool = format!("raised-{round}");
        for number in 0..CLAIMS {
            fleet.unlaunched(&pool, &format!("{pool}-{number:02}"), &finalizer());
        }
        let selector = format!("labelSelector=karpenter.sh%2Fnodepool%3D{pool}");
        let claims = format!("/apis/karpenter.sh/v1/nodeclaims?{selector}");
        let claims = Recording::start(fleet.client(), &claims);
        let pools = Recording::start(fleet.client(), "/apis/karpenter.sh/v1/nodepools");
        fleet.pool(&pool, 0, &json!({"poolgate.dev/over-limit": "Terminate"}));
        wait_for("the first deletion", || {
            claims.so_far().iter().any(is_deletion).then_some(())
        });
        fleet.limit(&pool, 100);
        lose_a_node_elsewhere(&mut fleet, &format!("beside-{pool}"));
        let claims = claims.changes(fleet.client());
        let pools: Vec<_> = pools.changes(fleet.client());
        let is_raise = |change: &Change| {
            name(&change.object) == pool && change.object["spec"]["limits"]["nodes"] == "100"
        };
        let all = merged(&claims, &pools);
        let later = all.iter().skip_while(|change| !is_raise(change));
        let deleted_later = later.filter(|change| is_deletion(change)).count();
        let left = fleet.living_claims(&pool).len();
        println!("{left} of {CLAIMS} claims are left, {deleted_later} went after the limit was raised");
        for claim in fleet.claims(&pool) {
            fleet.let_go(&claim);
        }
        assert!(
            deleted_later <= 1,
            "{deleted_later} went after the limit was raised"
        );
        if left > 1 {
            return;
        }
    }
    panic!("in {ROUNDS} rounds no limit was raised amid deletions");
}

/// Whether this is a claim's being deleted: finalizers hold it, and nothing else is written to it.
fn is_deletion(change: &Change) -> bool {
    !change.gone && change.object["metadata"]["deletionTimestamp"].is_string()
}
