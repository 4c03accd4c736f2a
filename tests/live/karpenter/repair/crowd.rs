//! A broken node with many pods, which want another node as soon as it is deleted.

use std::time::Instant;

use serde_json::{Value, json};

use super::super::full_pool::FullPool;
use super::super::guarded::Guarded;
use super::{DENIALS, policy};
use crate::support::karpenter::NodeRepair;
use crate::support::karpenter::objects::{annotated_pool, disruption_budget, limited_pool, pods};

const LIMIT: usize = 5;

/// What fits on one node.
const EACH: usize = 10;

/// Replaces a node with ten pods of which one at a time may be evicted: it cannot run elsewhere before the node is gone, so
/// the drain lasts as long as it may. Returns how many creations were denied, and the limits that Karpenter saw.
fn replace(limited: fn(&str, &Value, usize) -> Value) -> (usize, Vec<String>) {
    let (_directory, policy) = policy("repairGracePeriod: 30s");
    let guarded = Guarded::start_repairing(NodeRepair::On, &["--settle=5s", &policy]);
    guarded.review_pools();
    let pool = limited("full", &json!({"disruption": {"nodeLimitMode": "Hard"}}), LIMIT);
    let budget = disruption_budget("full", 1);
    guarded
        .cluster
        .create_in_default("policy/v1", "poddisruptionbudgets", &budget);
    let crowd = pods("full", "full", 50, "180m");
    let full = FullPool::fill_with(&guarded, &pool, LIMIT, &crowd);
    let broken = &full.members()[0];
    let on_it = guarded.cluster.pods_of("full");
    let on_it = on_it
        .iter()
        .filter(|pod| pod["spec"]["nodeName"] == broken.node.as_str());
    assert_eq!(on_it.count(), EACH, "{}", guarded.story());
    let before = guarded.denials("Hard");
    let begun = Instant::now();
    guarded.cluster.find_node_broken(&broken.node);
    let replaced = full.wait_until_replaced(broken, begun);
    let denied = guarded.denials("Hard") - before;
    println!("{replaced:.1?}, {denied} creations denied");
    full.assert_sound();
    (denied, full.limits_since(begun))
}

#[test]
#[ignore = "long: .ci/nightly"]
fn the_pods_of_a_broken_node_ask_for_no_place_while_it_drains_where_the_limit_is_left_to_poolgate() {
    let (denied, limits) = replace(annotated_pool);
    assert!(denied <= DENIALS, "{denied}");
    assert_eq!(limits, ["4", "5"], "one place less while the node drains");
}

/// Karpenter does not count a node that is being deleted, so it asks for its place as long as the drain lasts.
#[test]
#[ignore = "long: .ci/nightly"]
fn the_pods_of_a_broken_node_ask_for_its_place_while_it_drains_where_the_limit_is_in_the_spec() {
    let (denied, limits) = replace(limited_pool);
    assert!(denied <= 2 * DENIALS, "{denied}");
    assert_eq!(limits, [""; 0]);
}
