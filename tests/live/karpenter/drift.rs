//! Drifted nodes at a Hard limit: each would need a replacement for which there is no place.

use std::time::{Duration, Instant};

use serde_json::json;

use super::guarded::{Guarded, observation};
use super::shared::DRIFTING;
use crate::support::full::full;
use crate::support::karpenter::look::{claim_names, condition, disrupted};
use crate::support::karpenter::objects::{node_pool, one_pod_a_node};
use crate::support::recording::{Recording, spells};

const LIMIT: usize = 3;

/// How soon a place that becomes free is used: what users are promised, on a machine that has nothing else to do.
const GOES_ON: Duration = Duration::from_secs(30);
/// The same of the replacement of two nodes of a pool without a limit.
const UNDELAYED: Duration = Duration::from_mins(1);

/// A pool of as many nodes as it may have.
fn full_pool(guarded: &Guarded, name: &str, pods: u32) {
    let spec = json!({"limits": {"nodes": LIMIT.to_string()}, "disruption": {"nodeLimitMode": "Hard"}});
    guarded.cluster.create_pool(&node_pool(name, &spec));
    guarded.cluster.deploy(&one_pod_a_node(name, name, pods));
    guarded.wait_until_running(name, LIMIT);
}

/// Lets the nodes of a pool drift, and waits until Karpenter knows it of all.
fn drift(guarded: &Guarded, pool: &str) {
    guarded.cluster.drift(pool, "second");
    guarded.wait_for("all nodes to have drifted", |cluster| {
        let claims = cluster.claims(pool);
        let drifted = |claim| condition(claim, "Drifted") == "True";
        claims.iter().all(drifted).then_some(())
    });
}

/// How often a node was closed to pods, so that it could be replaced.
fn closed(guarded: &Guarded, nodes: &Recording) -> usize {
    spells(&nodes.changes(guarded.cluster.client()), disrupted).len()
}

/// The counterpart of the other tests here: without holds, what they never see happens, and often.
#[test]
fn drifted_nodes_without_a_hold_are_closed_and_denied_a_replacement_again_and_again() {
    let guarded = Guarded::gate_alone();
    let (claims, nodes) = (
        guarded.cluster.record_claims("full"),
        guarded.cluster.record_nodes("full"),
    );
    full_pool(&guarded, "full", 3);
    assert_eq!(guarded.denials("Hard"), 0);
    drift(&guarded, "full");
    let begun = Instant::now();
    guarded.wait_for("many denials", |_| (guarded.denials("Hard") >= 5).then_some(()));
    guarded.linger(observation().saturating_sub(begun.elapsed()));
    println!(
        "{} denials within {:?}, nodes closed {} times",
        guarded.denials("Hard"),
        begun.elapsed(),
        closed(&guarded, &nodes)
    );
    assert!(closed(&guarded, &nodes) > 0, "{}", guarded.story());
    assert_eq!(guarded.most(&claims), LIMIT, "{}", guarded.story());
}

#[test]
fn drifted_nodes_at_a_hard_limit_stay_open_other_pools_go_on_and_one_more_place_lets_drift_go_on() {
    let guarded = DRIFTING.get();
    let (claims, nodes) = (
        guarded.cluster.record_claims("full"),
        guarded.cluster.record_nodes("full"),
    );
    full_pool(&guarded, "full", 3);
    guarded.cluster.create_pool(&node_pool("other", &json!({})));
    guarded.cluster.deploy(&one_pod_a_node("other", "other", 2));
    guarded.wait_until_running("other", 2);
    guarded.wait_until_held("full", LIMIT);
    let old = claim_names(&guarded.cluster, "full");

    drift(&guarded, "full");
    let begun = Instant::now();
    let other = replace_all(&guarded, "other");
    guarded.linger(observation().saturating_sub(begun.elapsed()));
    println!("the other pool's two nodes replaced after {other:?}");
    assert_eq!(guarded.denials("Hard"), 0, "{}", guarded.story());
    assert_eq!(closed(&guarded, &nodes), 0, "{}", guarded.story());
    assert_eq!(claim_names(&guarded.cluster, "full"), old);

    let raised = Instant::now();
    guarded
        .cluster
        .change_pool("full", &json!({"limits": {"nodes": (LIMIT + 1).to_string()}}));
    let goes_on = guarded.wait_for("drift to go on", |cluster| {
        (claim_names(cluster, "full") != old).then(|| raised.elapsed())
    });
    guarded.wait_for("all nodes to be replaced", |cluster| {
        let now = claim_names(cluster, "full");
        (now.len() == LIMIT && now.is_disjoint(&old)).then_some(())
    });
    println!(
        "drift went on after {goes_on:?}, three nodes replaced after {:?}",
        raised.elapsed()
    );
    assert_eq!(guarded.most(&claims), LIMIT + 1, "{}", guarded.story());
    if full() {
        assert!(other <= UNDELAYED, "{other:?}\n{}", guarded.story());
        assert!(goes_on <= GOES_ON, "{goes_on:?}\n{}", guarded.story());
    }
}

#[test]
fn drifted_nodes_stay_open_while_pods_wait_and_are_replaced_once_a_node_is_empty() {
    let guarded = Guarded::start(&[]);
    let (claims, nodes) = (
        guarded.cluster.record_claims("full"),
        guarded.cluster.record_nodes("full"),
    );
    full_pool(&guarded, "full", 8);
    guarded.wait_until_held("full", LIMIT);
    let before = guarded.denials("Hard");
    let old = claim_names(&guarded.cluster, "full");

    drift(&guarded, "full");
    guarded.linger(observation());
    assert_eq!(guarded.denials("Hard"), before, "{}", guarded.story());
    assert_eq!(closed(&guarded, &nodes), 0, "{}", guarded.story());
    assert_eq!(claim_names(&guarded.cluster, "full"), old);

    guarded.cluster.scale("full", 2);
    let scaled = Instant::now();
    // One node is empty, and with its place the other two are replaced.
    guarded.wait_for("the emptied node to go and drift to go on", |cluster| {
        let now = claim_names(cluster, "full");
        (now.len() == 2 && now.is_disjoint(&old)).then_some(())
    });
    println!(
        "an emptied node gone and two replaced after {:?}",
        scaled.elapsed()
    );
    assert_eq!(guarded.denials("Hard"), before, "{}", guarded.story());
    assert_eq!(guarded.most(&claims), LIMIT, "{}", guarded.story());
}

/// Lets a pool drift and waits until all of its nodes are new; how long that took.
fn replace_all(guarded: &Guarded, pool: &str) -> Duration {
    let begun = Instant::now();
    let old = claim_names(&guarded.cluster, pool);
    guarded.cluster.drift(pool, "second");
    guarded.wait_for("the nodes to be replaced", |cluster| {
        let now = claim_names(cluster, pool);
        (now.len() == old.len() && now.is_disjoint(&old)).then_some(())
    });
    begun.elapsed()
}
