//! A node that was deleted, and is not gone.

use super::*;

fn deleted() -> Cluster {
    let mut cluster = Cluster::new();
    cluster.claim["metadata"]["deletionTimestamp"] = json!("2026-11-23T11:55:00Z");
    cluster
}

#[test]
fn pods_keep_it_until_the_deadline_if_there_is_one() {
    let mut cluster = deleted();
    cluster.budgets = vec![budget("web", 0)];
    assert_eq!(cluster.said().0, ["deleted since 2026-11-23T11:55:00Z"]);
    cluster.expect(&["PodDisruptionBudget shop/web allows 0 evictions", UNBOUNDED]);
    cluster.claim["metadata"]["annotations"] =
        json!({"karpenter.sh/nodeclaim-termination-timestamp": "2026-11-23T12:05:00Z"});
    let (_, causes) = cluster.said();
    assert_eq!(causes.len(), 1, "{causes:?}");
    assert!(
        causes[0].contains("covers pod shop/web, until 2026-11-23T12:05:00Z"),
        "{causes:?}"
    );
}

#[test]
fn a_pod_that_tolerates_the_end_is_not_waited_for() {
    let mut cluster = deleted();
    cluster.pods = vec![pod("web", &json!({"karpenter.sh/do-not-disrupt": "true"}))];
    cluster.expect(&["pod shop/web has the annotation", UNBOUNDED]);
    cluster.pods[0]["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
    cluster.expect(&[]);
}

#[test]
fn pods_that_end_have_their_time_and_those_that_never_will_are_not_waited_for() {
    let mut cluster = deleted();
    cluster.pods[0]["metadata"]["deletionTimestamp"] = json!("2026-11-23T12:00:30Z");
    cluster.expect(&["terminating pods on the node (1) have time to end, until 2026-11-23T12:00:30Z"]);
    cluster.pods[0]["metadata"]["deletionTimestamp"] = json!("2026-11-23T11:58:00Z");
    cluster.expect(&[]);
}

#[test]
fn what_comes_after_the_pods_is_said() {
    let mut cluster = deleted();
    cluster.claim["status"]["conditions"] = json!([condition("Drained", ""), {"type": "VolumesDetached", "status": "Unknown", "reason": "Awaiting"}]);
    cluster.expect(&["the node is drained, but volumes are still attached to it"]);
    cluster.claim["status"]["conditions"] = json!([condition("InstanceTerminating", "")]);
    cluster.expect(&["the node is drained, and the provider is terminating its machine"]);
}
