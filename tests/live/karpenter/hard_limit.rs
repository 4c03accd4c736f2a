//! More pods than a Hard limit has room for.

use std::time::Duration;

use serde_json::json;

use super::overrun::OVERRUN;
use crate::support::karpenter::KarpenterCluster;
use crate::support::karpenter::objects::{node_pool, one_pod_a_node};

/// Long enough for the reconciler to look at the pool many times, and for Karpenter to try for the pods that wait.
const STEADY: Duration = Duration::from_secs(15);

#[test]
fn a_hard_limit_is_never_exceeded_and_its_event_is_reported_once() {
    let overrun = OVERRUN.get();
    let guarded = &overrun.guarded;
    let claims = guarded.cluster.record_claims("tight");
    guarded
        .cluster
        .create_pool(&node_pool("tight", &json!({"limits": {"nodes": "5"}})));
    guarded.cluster.deploy(&one_pod_a_node("tight", "tight", 12));
    guarded.wait_until_running("tight", 5);
    let reported = |cluster: &_| events(cluster, "tight");
    guarded.wait_for("the event", |cluster| {
        (!reported(cluster).is_empty()).then_some(())
    });
    guarded.linger(STEADY);
    assert_eq!(guarded.cluster.pods_in_phase("tight", "Running"), 5);
    assert_eq!(guarded.cluster.pods_in_phase("tight", "Pending"), 7);
    assert_eq!(reported(&guarded.cluster), [1], "{}", guarded.story());

    guarded.cluster.scale("tight", 2);
    guarded.wait_for("nodes to go", |cluster| {
        (cluster.claims("tight").len() == 2).then_some(())
    });
    assert_eq!(guarded.most(&claims), 5, "{}", guarded.story());
}

/// How often each event that the limit was reached was reported.
fn events(cluster: &KarpenterCluster, pool: &str) -> Vec<u64> {
    let events = cluster.events(pool, "NodeLimitReached");
    // A series has a count, a single event may lack it.
    events
        .iter()
        .map(|event| event["count"].as_u64().unwrap_or(1))
        .collect()
}
