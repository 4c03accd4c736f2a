//! Expiration, which nothing can stop: the replacement has to wait until its place is free.

use std::time::Instant;

use serde_json::json;

use super::overrun::OVERRUN;
use crate::support::karpenter::look::claim_names;
use crate::support::karpenter::objects::{node_pool, one_pod_a_node};

#[test]
fn nodes_at_a_hard_limit_expire_and_are_replaced_within_it() {
    let overrun = OVERRUN.get();
    let guarded = &overrun.guarded;
    let claims = guarded.cluster.record_claims("short");
    let spec = json!({
        "limits": {"nodes": "3"},
        "template": {"spec": {"expireAfter": "60s"}},
    });
    guarded.cluster.create_pool(&node_pool("short", &spec));
    guarded.cluster.deploy(&one_pod_a_node("short", "short", 3));
    guarded.wait_until_running("short", 3);
    let (old, begun) = (claim_names(&guarded.cluster, "short"), Instant::now());
    guarded.wait_for("three pods on three new nodes", |cluster| {
        let now = claim_names(cluster, "short");
        let running = cluster.pods_in_phase("short", "Running") == 3;
        (running && now.len() == 3 && now.is_disjoint(&old)).then_some(())
    });
    println!(
        "three expired nodes replaced {:?} after their pods ran",
        begun.elapsed()
    );
    assert_eq!(guarded.most(&claims), 3, "{}", guarded.story());
}
