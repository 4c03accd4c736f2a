//! What a Hard limit leaves alone: consolidation whose pods fit elsewhere, and expiration.

use std::time::{Duration, Instant};

use serde_json::json;

use super::guarded::{Guarded, PROVISION, observation};
use crate::support::karpenter::look::{claim_names, of_pool};
use crate::support::karpenter::objects::{node_pool, one_pod_a_node, pods};
use crate::support::recording::{counts, peak};

#[test]
fn half_empty_nodes_at_a_hard_limit_are_consolidated_without_a_refusal() {
    let mut guarded = Guarded::start(&[]);
    let claims = guarded.cluster.record_claims();
    let spec = json!({"limits": {"nodes": "5"}, "disruption": {"nodeLimitMode": "Hard"}});
    guarded.cluster.create_pool(&node_pool("shared", &spec));
    // Two on each node; of ten pods a ReplicaSet gives up those that share a node first.
    guarded.cluster.deploy(&pods("web", "shared", 10, "900m"));
    guarded.wait_for("ten pods to run on five nodes", PROVISION, |cluster| {
        let running = cluster.pods_in_phase("web", "Running") == 10;
        (running && cluster.claims("shared").len() == 5).then_some(())
    });
    let before = guarded.refusals();
    guarded.cluster.scale("web", 5);
    let scaled = Instant::now();
    guarded.wait_for("five pods on three nodes", PROVISION, |cluster| {
        let running = cluster.pods_in_phase("web", "Running") == 5;
        (running && cluster.claims("shared").len() == 3).then_some(())
    });
    println!("five half-empty nodes became three after {:?}", scaled.elapsed());
    guarded.linger(observation() / 2);
    assert_eq!(guarded.refusals(), before, "{}", guarded.story());
    assert_eq!(guarded.cluster.claims("shared").len(), 3, "{}", guarded.story());
    let history = counts(&claims.changes(guarded.cluster.client()), of_pool("shared"));
    assert_eq!(peak(&history), 5);
}

#[test]
fn nodes_at_a_hard_limit_expire_and_are_replaced_within_it() {
    let mut guarded = Guarded::start(&[]);
    let claims = guarded.cluster.record_claims();
    let spec = json!({
        "limits": {"nodes": "3"},
        "disruption": {"nodeLimitMode": "Hard"},
        "template": {"spec": {"expireAfter": "60s"}},
    });
    guarded.cluster.create_pool(&node_pool("short", &spec));
    guarded.cluster.deploy(&one_pod_a_node("web", "short", 3));
    guarded.wait_for("three pods to run", PROVISION, |cluster| {
        (cluster.pods_in_phase("web", "Running") == 3).then_some(())
    });
    let (old, begun) = (claim_names(&guarded.cluster, "short"), Instant::now());
    guarded.linger(Duration::from_secs(45));
    guarded.wait_for("three pods on three new nodes", PROVISION, |cluster| {
        let now = claim_names(cluster, "short");
        let running = cluster.pods_in_phase("web", "Running") == 3;
        (running && now.len() == 3 && now.is_disjoint(&old)).then_some(())
    });
    println!(
        "three expired nodes replaced {:?} after their pods ran, {} refusals",
        begun.elapsed(),
        guarded.refusals()
    );
    let history = counts(&claims.changes(guarded.cluster.client()), of_pool("short"));
    assert_eq!(peak(&history), 3);
}
