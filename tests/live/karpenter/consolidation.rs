//! Consolidation at a Hard limit: where pods fit elsewhere it continues, and cheaper nodes have to wait for a place.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::guarded::{Guarded, observation};
use super::shared::CONSOLIDATING;
use crate::support::karpenter::KarpenterCluster;
use crate::support::karpenter::objects::{MEDIUM, SMALL, node_pool, one_pod_a_node, pods};

const LIMIT: usize = 2;

/// How much longer than a look consolidation takes: it begins 5 s after a pod has gone, and waits for 15 s before it
/// believes itself.
const UNTIL_BELIEVED: Duration = Duration::from_secs(20);

#[test]
fn nodes_that_could_be_cheaper_stay_at_a_hard_limit_and_are_replaced_with_one_more_place() {
    let guarded = Guarded::start(&[]);
    let claims = guarded.cluster.record_claims("sized");
    let spec = json!({
        "limits": {"nodes": LIMIT.to_string()},
        "disruption": {"nodeLimitMode": "Hard"},
        "template": {"spec": {"requirements": [
            {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
            {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": [SMALL, MEDIUM]},
        ]}},
    });
    guarded.cluster.create_pool(&node_pool("sized", &spec));
    let mut large = one_pod_a_node("large", "sized", 2);
    large["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("2500m");
    guarded.cluster.deploy(&large);
    guarded.wait_until_running("large", LIMIT);
    // Beside the large ones there is room for one of these on each node; alone, each would do with a small node.
    guarded.cluster.deploy(&one_pod_a_node("little", "sized", 2));
    guarded.wait_until_running("little", LIMIT);
    guarded.wait_until_held("sized", LIMIT);

    guarded.cluster.scale("large", 0);
    guarded.linger(UNTIL_BELIEVED + observation());
    assert_eq!(guarded.denials("Hard"), 0, "{}", guarded.story());
    assert_eq!(of_type(&guarded.cluster, MEDIUM), LIMIT, "{}", guarded.story());

    guarded
        .cluster
        .change_pool("sized", &json!({"limits": {"nodes": (LIMIT + 1).to_string()}}));
    let raised = Instant::now();
    guarded.wait_for("small nodes in the place of all", |cluster| {
        (of_type(cluster, SMALL) == LIMIT && of_type(cluster, MEDIUM) == 0).then_some(())
    });
    println!("two nodes became small ones after {:?}", raised.elapsed());
    assert_eq!(guarded.most(&claims), LIMIT + 1, "{}", guarded.story());
}

#[test]
fn half_empty_nodes_at_a_hard_limit_are_consolidated_without_a_denial() {
    let guarded = CONSOLIDATING.get();
    let claims = guarded.cluster.record_claims("roomy");
    let spec = json!({"limits": {"nodes": "5"}, "disruption": {"nodeLimitMode": "Hard"}});
    guarded.cluster.create_pool(&node_pool("roomy", &spec));
    // Two on each node; of ten pods a ReplicaSet gives up those that share a node first.
    guarded.cluster.deploy(&pods("roomy", "roomy", 10, "900m"));
    guarded.wait_until_running("roomy", 10);
    assert_eq!(guarded.cluster.claims("roomy").len(), 5, "{}", guarded.story());
    guarded.cluster.scale("roomy", 5);
    let scaled = Instant::now();
    guarded.wait_for("five pods on three nodes", |cluster| {
        let running = cluster.pods_in_phase("roomy", "Running") == 5;
        (running && cluster.claims("roomy").len() == 3).then_some(())
    });
    println!("five half-empty nodes became three after {:?}", scaled.elapsed());
    assert_eq!(guarded.denials("Hard"), 0, "{}", guarded.story());
    assert_eq!(guarded.most(&claims), 5, "{}", guarded.story());
}

fn of_type(cluster: &KarpenterCluster, size: &str) -> usize {
    let is = |node: &&Value| node["metadata"]["labels"]["node.kubernetes.io/instance-type"] == size;
    cluster.nodes("sized").iter().filter(is).count()
}
