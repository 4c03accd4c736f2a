//! Nodes at a Hard limit that Karpenter would replace by cheaper ones: replacements, for which there is no place.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::guarded::{Guarded, PROVISION, observation};
use crate::support::karpenter::KarpenterCluster;
use crate::support::karpenter::look::of_pool;
use crate::support::karpenter::objects::{MEDIUM, SMALL, node_pool, one_pod_a_node};
use crate::support::recording::{counts, peak};

/// Until consolidation has looked at the nodes: it waits for 15 s before it believes itself.
const LOOKED_AT: Duration = Duration::from_secs(30);

#[test]
fn nodes_that_could_be_cheaper_stay_at_a_hard_limit_and_are_replaced_with_one_more_place() {
    let mut guarded = Guarded::start(&[]);
    let claims = guarded.cluster.record_claims();
    let spec = json!({
        "limits": {"nodes": "3"},
        "disruption": {"nodeLimitMode": "Hard"},
        "template": {"spec": {"requirements": [
            {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
            {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": [SMALL, MEDIUM]},
        ]}},
    });
    guarded.cluster.create_pool(&node_pool("sized", &spec));
    let mut large = one_pod_a_node("large", "sized", 3);
    large["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("2500m");
    guarded.cluster.deploy(&large);
    running(&mut guarded, "large");
    // Beside the large ones there is room for one of these on each node; alone, each would do with a small node.
    guarded.cluster.deploy(&one_pod_a_node("little", "sized", 3));
    running(&mut guarded, "little");
    let before = guarded.refusals();

    guarded.cluster.scale("large", 0);
    guarded.linger(LOOKED_AT + observation() / 2);
    let refused = guarded.refusals() - before;
    println!("{refused} refusals while three nodes could be cheaper");
    assert!(refused <= 2, "{}", guarded.story());
    assert_eq!(of_type(&guarded.cluster, MEDIUM), 3, "{}", guarded.story());

    guarded
        .cluster
        .change_pool("sized", &json!({"limits": {"nodes": "4"}}));
    let raised = Instant::now();
    guarded.wait_for("three small nodes", PROVISION * 2, |cluster| {
        (of_type(cluster, SMALL) == 3 && of_type(cluster, MEDIUM) == 0).then_some(())
    });
    println!("three nodes became small ones after {:?}", raised.elapsed());
    let history = counts(&claims.changes(guarded.cluster.client()), of_pool("sized"));
    assert_eq!(peak(&history), 4);
}

fn running(guarded: &mut Guarded, deployment: &str) {
    guarded.wait_for("three pods to run", PROVISION, |cluster| {
        (cluster.pods_in_phase(deployment, "Running") == 3).then_some(())
    });
}

fn of_type(cluster: &KarpenterCluster, size: &str) -> usize {
    let is = |node: &&Value| node["metadata"]["labels"]["node.kubernetes.io/instance-type"] == size;
    cluster.nodes("sized").iter().filter(is).count()
}
