//! More pods than a Hard limit has room for.

use std::time::Duration;

use serde_json::json;

use super::guarded::{Guarded, PROVISION};
use crate::support::karpenter::look::of_pool;
use crate::support::karpenter::objects::{node_pool, one_pod_a_node};
use crate::support::recording::{counts, peak};

#[test]
fn a_hard_limit_is_never_exceeded_and_its_event_is_told_once() {
    let mut guarded = Guarded::start(&[]);
    let claims = guarded.cluster.record_claims();
    let spec = json!({"limits": {"nodes": "5"}, "disruption": {"nodeLimitMode": "Hard"}});
    guarded.cluster.create_pool(&node_pool("general", &spec));
    guarded.cluster.deploy(&one_pod_a_node("web", "general", 30));
    guarded.wait_for("five pods to run", PROVISION, |cluster| {
        (cluster.pods_in_phase("web", "Running") == 5).then_some(())
    });
    let told = |cluster: &_| events(cluster, "general");
    guarded.wait_for("the event", PROVISION, |cluster| {
        (!told(cluster).is_empty()).then_some(())
    });
    guarded.linger(Duration::from_secs(20));
    assert_eq!(guarded.cluster.pods_in_phase("web", "Running"), 5);
    assert_eq!(guarded.cluster.pods_in_phase("web", "Pending"), 25);
    assert_eq!(told(&guarded.cluster), [1], "{}", guarded.story());

    guarded.cluster.scale("web", 2);
    guarded.wait_for("nodes to go", PROVISION, |cluster| {
        (cluster.claims("general").len() == 2).then_some(())
    });
    let history = counts(&claims.changes(guarded.cluster.client()), of_pool("general"));
    assert_eq!(peak(&history), 5);
}

/// How often each event that the limit was reached was told.
fn events(cluster: &crate::support::karpenter::KarpenterCluster, pool: &str) -> Vec<u64> {
    let events = cluster.events(pool, "NodeLimitReached");
    // A series has a count, a single event may lack it.
    events
        .iter()
        .map(|event| event["count"].as_u64().unwrap_or(1))
        .collect()
}
