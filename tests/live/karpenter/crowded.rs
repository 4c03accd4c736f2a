//! A full pool whose pods wait, and what that costs the other pools.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::guarded::Guarded;
use crate::support::full::full;
use crate::support::karpenter::objects::{disruption_budget, node_pool, one_pod_a_node};
use crate::support::recording;

/// Each pod that waits makes Karpenter look every ten seconds: so far apart, they leave it no quiet second.
const APART: Duration = Duration::from_millis(1_200);

/// How many pods wait for the full pool.
const WAITING: u32 = 10;

/// How many pods another pool is asked for, one after the other.
const SERVED: usize = 4;

/// A pool at its limit, one of its nodes held up in its drain, and pods that wait for another node.
fn crowded(guarded: &Guarded, limits: &Value) {
    let cluster = &guarded.cluster;
    let mut pool = node_pool("full", &json!({"disruption": {"nodeLimitMode": "Hard"}}));
    match limits.as_str() {
        Some(limit) => pool["metadata"]["annotations"] = json!({"poolgate.dev/node-limit": limit}),
        None => pool["spec"]["limits"] = limits.clone(),
    }
    cluster.create_pool(&pool);
    cluster.create_pool(&node_pool("beside", &json!({"limits": {"nodes": "100"}})));
    cluster.create_in_default(
        "policy/v1",
        "poddisruptionbudgets",
        &disruption_budget("filling", 0),
    );
    cluster.deploy(&one_pod_a_node("filling", "full", 5));
    guarded.wait_until_running("filling", 5);
    let claim = recording::name(&cluster.claims("full")[0]).to_owned();
    cluster.delete_claim(&claim);
    cluster.deploy(&one_pod_a_node("crowd", "full", 0));
    for waiting in 1..=WAITING {
        cluster.scale("crowd", waiting);
        guarded.linger(APART);
    }
    // The back-off grows with every failure.
    guarded.linger(Duration::from_secs(if full() { 45 } else { 15 }));
}

/// Asks another pool for nodes, one after the other, and tells after how long each was there.
fn serve(guarded: &Guarded) -> Vec<Duration> {
    let served = (0..SERVED).map(|number| {
        let begun = Instant::now();
        let name = format!("served-{number}");
        guarded.cluster.deploy(&one_pod_a_node(&name, "beside", 1));
        guarded.wait_until_running(&name, 1);
        begun.elapsed()
    });
    served.collect()
}

#[test]
fn pods_that_wait_for_a_full_pool_cost_no_other_pool_anything_where_its_limit_is_left_to_poolgate() {
    let guarded = Guarded::start(&[]);
    guarded.judge_pools();
    let claims = guarded.cluster.record_claims("full");
    crowded(&guarded, &json!("5"));
    guarded.wait_for("the draining node to be taken off the limit", |cluster| {
        let pool = cluster.client().get("/apis/karpenter.sh/v1/nodepools/full")?;
        (pool["spec"]["limits"]["nodes"] == "4").then_some(())
    });
    let before = guarded.refusals("Hard");
    let times = serve(&guarded);
    let denied = guarded.refusals("Hard") - before;
    println!("served after {times:.1?}; {before} creations denied before, {denied} meanwhile");
    assert_eq!(denied, 0, "{}", guarded.story());
    assert_eq!(guarded.most(&claims), 5, "{}", guarded.story());

    // The place that comes free is used, and no more.
    let draining = guarded.cluster.claims("full");
    let draining = draining
        .iter()
        .find(|claim| claim["metadata"]["deletionTimestamp"].is_string());
    let draining = recording::name(draining.expect("a claim that drains")).to_owned();
    guarded
        .cluster
        .client()
        .delete("/apis/policy/v1/namespaces/default/poddisruptionbudgets/filling");
    guarded.wait_for("the place to be taken by another node", |cluster| {
        let claims = cluster.claims("full");
        let is_over = claims.iter().all(|claim| recording::name(claim) != draining);
        (is_over && claims.len() == 5).then_some(())
    });
    assert_eq!(guarded.most(&claims), 5, "{}", guarded.story());
}

#[test]
#[ignore = "long: tests/run --full"]
fn pods_that_wait_for_a_full_pool_slow_the_others_down_where_the_limit_stands_in_its_spec() {
    let guarded = Guarded::start(&[]);
    crowded(&guarded, &json!({"nodes": "5"}));
    let before = guarded.refusals("Hard");
    let times = serve(&guarded);
    let denied = guarded.refusals("Hard") - before;
    println!("served after {times:.1?}; {before} creations denied before, {denied} meanwhile");
    assert!(denied > 0, "{}", guarded.story());
}
