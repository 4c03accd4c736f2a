//! What Karpenter does without poolgate: the reason why there is a gate.

use std::time::Duration;

use serde_json::json;

use crate::support::karpenter::look::of_pool;
use crate::support::karpenter::objects::{node_pool, one_pod_a_node};
use crate::support::karpenter::{Definition, KarpenterCluster};
use crate::support::recording::{counts, peak};

const PROVISION: Duration = Duration::from_mins(3);

#[test]
fn karpenter_alone_overruns_its_limit() {
    let mut cluster = KarpenterCluster::start(Definition::Published, |_| {});
    let claims = cluster.record_claims();
    cluster.create_pool(&node_pool("general", &json!({"limits": {"nodes": "5"}})));
    cluster.deploy(&one_pod_a_node("web", "general", 30));
    cluster.wait_for("30 pods to run", PROVISION, |cluster| {
        (cluster.pods_in_phase("web", "Running") == 30).then_some(())
    });
    let history = counts(&claims.changes(cluster.client()), of_pool("general"));
    println!("limits.nodes 5, 30 pods: {} nodes", peak(&history));
    assert_eq!(peak(&history), 30);
}
