//! What is said agrees with the numbers of the present.

use super::*;
use crate::status::why::Question;

/// A node that poolgate holds, in a pool with this limit.
fn held(limit: &str) -> Cluster {
    let mut cluster = Cluster::drifted();
    cluster.node["metadata"]["annotations"] = json!({"karpenter.sh/do-not-disrupt": "true"});
    cluster.node["metadata"]["labels"]["poolgate.dev/held"] = json!("true");
    cluster.pool["spec"]["limits"] = json!({"nodes": limit});
    cluster
}

#[test]
fn a_held_node_of_a_pool_with_room_is_not_said_to_wait_for_room() {
    held("1").expect(&[
        "poolgate holds the node (label poolgate.dev/held), because there is no room for a replacement: limits.nodes of NodePool \
         general is 1 (Hard), 1 NodeClaim. To give the pool room: ",
    ]);
    let begin = "poolgate holds the node (label poolgate.dev/held) although there is room";
    let numbers = "limits.nodes of NodePool general is 10 (Hard), 1 NodeClaim.";
    held("10").expect(&[&format!(
        "{begin}: {numbers} poolgate unholds at most as many nodes as there are free places (9), and all after"
    )]);
    let mut orphaned = held("10");
    orphaned.leads = false;
    orphaned.expect(&[&format!(
        "{begin}, because no reconciler is leading: {numbers} To unhold all nodes: poolgate reconcile \
         --unhold-all"
    )]);
    let mut kept = held("10");
    kept.node["metadata"]["labels"]["poolgate.dev/keep"] = json!("");
    kept.expect(&[&format!(
        "{begin}, because poolgate.dev/keep is set on it: {numbers} To let it go, remove poolgate.dev/keep"
    )]);
}

#[test]
fn an_event_of_poolgate_that_the_present_contradicts_is_not_reported() {
    for (limit, reported) in [("1", 1), ("10", 0)] {
        let mut cluster = held(limit);
        cluster.of_pools = vec![json!({
            "metadata": {}, "involvedObject": {"kind": "NodePool", "name": "general", "uid": "u-pool"},
            "reason": "DisruptionBlocked", "reportingComponent": "poolgate",
            "message": "No allowed disruptions for disruption reason Drifted due to node hard limit",
        })];
        assert_eq!(cluster.whys().nodes[0].events.len(), reported, "{limit}");
    }
}

#[test]
fn a_node_that_is_not_ready_says_that_karpenter_may_never_repair_it() {
    let mut cluster = Cluster::new();
    cluster.node["status"]["conditions"][0]["status"] = json!("Unknown");
    let delete = "To replace it now: kubectl delete nodeclaim a --wait=false";
    cluster.expect(&[&format!(
        "Karpenter has not tried to repair the node. Karpenter repairs nodes only with the feature gate NodeRepair, which is \
         off by default. {delete}"
    )]);
    // Karpenter has tried.
    let conditions = cluster.claim["status"]["conditions"].as_array_mut();
    conditions
        .expect("a list")
        .push(condition("DisruptionReason", "Unhealthy"));
    cluster.expect(&[]);
}

#[test]
fn a_node_that_is_not_initialized_names_the_taint_that_karpenter_waits_for() {
    let mut cluster = Cluster::new();
    cluster.claim["status"]["conditions"] = json!([]);
    cluster
        .expect(&["the node is not initialized, and Karpenter disrupts only nodes that are ready with all"]);
    let taint = |key: &str, effect: &str| json!({"key": key, "effect": effect});
    let waits = "the node is not initialized, because Karpenter waits for the removal of a taint";
    cluster.node["spec"] =
        json!({"taints": [taint("dedicated", "NoSchedule"), taint("readiness.k8s.io/cni", "NoSchedule")]});
    cluster.expect(&[&format!("{waits} (taint readiness.k8s.io/cni:NoSchedule). ")]);
    cluster.claim["spec"]["startupTaints"] = json!([taint("dedicated", "NoExecute")]);
    cluster.expect(&[&format!("{waits} (taint readiness.k8s.io/cni:NoSchedule). ")]);
    cluster.claim["spec"]["startupTaints"] = json!([taint("dedicated", "NoSchedule")]);
    cluster.expect(&[&format!(
        "{waits} (startup taint dedicated:NoSchedule). Check that the agent that removes it runs on the node"
    )]);
}

#[test]
fn what_keeps_nodes_of_a_pool_from_consolidation_is_said_once_for_all() {
    let mut cluster = Cluster::new();
    cluster.budgets = vec![budget("web", 0)];
    let mut whys = cluster.whys();
    let more = |name: &str| {
        let mut more = Cluster::new();
        more.claim["metadata"]["name"] = json!(name);
        more.claim["status"]["nodeName"] = json!(format!("node-{name}"));
        more.node["metadata"]["name"] = json!(format!("node-{name}"));
        let mut pod = pod(&format!("web-{name}"), &json!({}));
        pod["metadata"]["labels"] = json!({"app": "web"});
        pod["spec"]["nodeName"] = json!(format!("node-{name}"));
        more.pods = vec![pod];
        more.budgets = vec![budget("web", 0)];
        more.whys().nodes
    };
    whys.nodes.extend(more("b"));
    whys.keep_those_that_should_go();
    let text = whys.text(1000);
    assert!(
        text.contains(
            "Blocking consolidation of other nodes:\n  node-a, node-b: PodDisruptionBudget shop/web allows 0 evictions"
        ),
        "{text}"
    );
    assert_eq!(text.matches("shop/web allows").count(), 1, "{text}");
}

#[test]
fn what_is_not_there_is_not_said_to_be_somebody_elses() {
    let answer = |question: Question<'_>, is_there: Result<bool, &str>| {
        question.without_claims(&is_there.map_err(str::to_owned))
    };
    let gone = answer(Question::Node("node-a"), Ok(false));
    assert!(
        gone.starts_with("node or NodeClaim \"node-a\" does not exist"),
        "{gone}"
    );
    let others = answer(Question::Node("node-a"), Ok(true));
    assert!(others.ends_with("Karpenter does not manage it"), "{others}");
    let unread = answer(Question::Node("node-a"), Err("forbidden"));
    assert!(unread.ends_with("Nodes could not be read: forbidden"), "{unread}");
    assert_eq!(
        answer(Question::Pool("general"), Ok(false)),
        "NodePool \"general\" does not exist"
    );
    assert_eq!(
        answer(Question::Pool("general"), Ok(true)),
        "NodePool \"general\" has no NodeClaims"
    );
}
