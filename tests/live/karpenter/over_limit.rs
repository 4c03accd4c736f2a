//! Pools that have more nodes than they may.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::guarded::{Guarded, PROVISION};
use crate::support::karpenter::KarpenterCluster;
use crate::support::karpenter::look::claim_names;
use crate::support::karpenter::objects::{disruption_budget, node_pool, one_pod_a_node};
use crate::support::recording::{Change, name};

/// For how long victims are held up: long enough for many plans.
const HELD_UP: Duration = Duration::from_mins(1);
const FINALIZER: &str = "poolgate.dev/test";

/// Eight nodes in a pool that may have eight: two without pods, one with a cheap pod, five with plain ones of which
/// one may go at a time.
fn eight_nodes(guarded: &mut Guarded, annotations: &Value) -> Vec<String> {
    // Empty nodes are to stay until they are victims.
    let spec = json!({
        "limits": {"nodes": "8"},
        "disruption": {"nodeLimitMode": "Hard", "consolidateAfter": "Never"},
    });
    let mut pool = node_pool("general", &spec);
    pool["metadata"]["annotations"] = annotations.clone();
    guarded.cluster.create_pool(&pool);
    guarded
        .cluster
        .create_in_default("policy/v1", "poddisruptionbudgets", &disruption_budget("web", 1));
    let mut cheap = one_pod_a_node("cheap", "general", 1);
    cheap["spec"]["template"]["metadata"]["annotations"] =
        json!({"controller.kubernetes.io/pod-deletion-cost": "-1000000000"});
    for deployment in [
        cheap,
        one_pod_a_node("spare", "general", 2),
        one_pod_a_node("web", "general", 5),
    ] {
        guarded.cluster.deploy(&with_room_of_its_own(deployment));
    }
    guarded.wait_for("eight pods to run on eight nodes", PROVISION, |cluster| {
        let running = ["cheap", "spare", "web"].map(|name| cluster.pods_in_phase(name, "Running"));
        (running == [1, 2, 5] && cluster.claims("general").len() == 8).then_some(())
    });
    let mut right = claims_under(&guarded.cluster, "spare");
    right.extend(claims_under(&guarded.cluster, "cheap"));
    guarded.cluster.scale("spare", 0);
    guarded.wait_for("two nodes to be empty", PROVISION, |cluster| {
        cluster.pods_of("spare").is_empty().then_some(())
    });
    right
}

/// No two pods fit on one node.
fn with_room_of_its_own(mut deployment: Value) -> Value {
    let container = &mut deployment["spec"]["template"]["spec"]["containers"][0];
    container["resources"]["requests"]["cpu"] = json!("1500m");
    deployment
}

/// The NodeClaims whose nodes carry the pods of a Deployment.
fn claims_under(cluster: &KarpenterCluster, deployment: &str) -> Vec<String> {
    let nodes: BTreeSet<_> = cluster
        .pods_of(deployment)
        .iter()
        .filter_map(|pod| pod["spec"]["nodeName"].as_str().map(str::to_owned))
        .collect();
    let claims = cluster.claims("general");
    let under = |claim: &&Value| nodes.contains(claim["status"]["nodeName"].as_str().unwrap_or_default());
    claims
        .iter()
        .filter(under)
        .map(|claim| name(claim).to_owned())
        .collect()
}

fn is_going(claim: &Value) -> bool {
    !claim["metadata"]["deletionTimestamp"].is_null()
}

fn going(cluster: &KarpenterCluster) -> usize {
    cluster
        .claims("general")
        .iter()
        .filter(|claim| is_going(claim))
        .count()
}

/// The NodeClaims in the order in which they were deleted.
fn deleted_in_order(changes: &[Change]) -> Vec<String> {
    let mut order: Vec<String> = Vec::new();
    for change in changes.iter().filter(|change| is_going(&change.object)) {
        let name = name(&change.object);
        if !order.iter().any(|known| known == name) {
            order.push(name.to_owned());
        }
    }
    order
}

#[test]
fn a_lowered_limit_terminates_the_cheapest_nodes_and_no_more_however_long_they_take() {
    let mut guarded = Guarded::start(&["--settle=5s", "--max-terminations-per-minute=60"]);
    let claims = guarded.cluster.record_claims();
    let right = eight_nodes(&mut guarded, &json!({"poolgate.dev/over-limit": "Terminate"}));
    for claim in guarded.cluster.claims("general") {
        let mut finalizers = claim["metadata"]["finalizers"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        finalizers.push(json!(FINALIZER));
        guarded.cluster.set_finalizers(name(&claim), &finalizers);
    }

    guarded.judge_pools();
    let told = lower_on_trial(&guarded, "5");
    assert!(
        told.contains(
            "the pool has 8 NodeClaims, so 3 stand above the limit; the reconciler will terminate 3"
        ),
        "{told}"
    );
    guarded
        .cluster
        .change_pool("general", &json!({"limits": {"nodes": "5"}}));
    let lowered = Instant::now();
    guarded.wait_for("three victims", PROVISION, |cluster| {
        (going(cluster) == 3).then_some(())
    });
    println!(
        "three victims {:?} after the limit was lowered",
        lowered.elapsed()
    );
    guarded.linger(HELD_UP);
    let order = deleted_in_order(&claims.changes(guarded.cluster.client()));
    assert_eq!(going(&guarded.cluster), 3, "{}", guarded.story());
    // Two are alike; then comes the one with the cheap pod.
    assert_eq!(sorted(&order[..2]), sorted(&right[..2]), "{}", guarded.story());
    assert_eq!(order[2..], right[2..], "{}", guarded.story());
    assert_eq!(guarded.cluster.pods_in_phase("web", "Running"), 5);

    for claim in guarded.cluster.claims("general") {
        let finalizers = claim["metadata"]["finalizers"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let others: Vec<_> = finalizers.into_iter().filter(|one| one != FINALIZER).collect();
        guarded.cluster.set_finalizers(name(&claim), &others);
    }
    guarded.wait_for("three nodes to go", PROVISION, |cluster| {
        (cluster.claims("general").len() == 5).then_some(())
    });
    guarded.linger(Duration::from_secs(10));
    let order = deleted_in_order(&claims.changes(guarded.cluster.client()));
    assert_eq!(order.len(), 3, "{order:?}\n{}", guarded.story());
}

#[test]
fn terminations_keep_to_their_pace_and_to_pod_disruption_budgets() {
    let mut guarded = Guarded::start(&["--settle=5s", "--max-terminations-per-minute=3"]);
    let claims = guarded.cluster.record_claims();
    let right = eight_nodes(&mut guarded, &json!({"poolgate.dev/over-limit": "Terminate"}));
    guarded.cluster.client().merge(
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets/web",
        &json!({"spec": {"maxUnavailable": 0}}),
    );
    guarded
        .cluster
        .change_pool("general", &json!({"limits": {"nodes": "4"}}));
    guarded.wait_for("four victims", PROVISION, |_| {
        (deleted_in_order(&claims.so_far()).len() == 4).then_some(())
    });
    guarded.linger(Duration::from_secs(20));
    let changes = claims.changes(guarded.cluster.client());
    let order = deleted_in_order(&changes);
    assert_eq!(order.len(), 4, "{}", guarded.story());
    assert_eq!(sorted(&order[..3]), sorted(&right));
    // The fourth has a pod of which none may be evicted: it drains for as long as that holds.
    assert_eq!(
        guarded.cluster.pods_in_phase("web", "Running"),
        5,
        "{}",
        guarded.story()
    );
    assert_eq!(going(&guarded.cluster), 1);
    let times = deletion_times(&changes);
    println!("fourth termination {:?} after the first", times[3] - times[0]);
    assert!(times[3] - times[0] >= Duration::from_secs(59), "{times:?}");
}

#[test]
fn a_pool_that_was_overrun_before_poolgate_came_loses_no_node() {
    let mut guarded = Guarded::unguarded();
    let claims = guarded.cluster.record_claims();
    let spec = json!({"limits": {"nodes": "5"}, "disruption": {"nodeLimitMode": "Hard"}});
    guarded.cluster.create_pool(&node_pool("general", &spec));
    guarded.cluster.deploy(&one_pod_a_node("web", "general", 8));
    guarded.wait_for("eight pods to run", PROVISION, |cluster| {
        (cluster.pods_in_phase("web", "Running") == 8).then_some(())
    });
    guarded.guard();
    guarded.judge_pools();
    guarded.reconcile(&["--settle=5s"]);
    guarded.wait_for("the event", PROVISION, |cluster| {
        (!cluster.events("general", "NodeLimitExceeded").is_empty()).then_some(())
    });
    guarded.linger(Duration::from_secs(20));
    let excess = r#"poolgate_nodepools_excess_nodes{nodepool="general"}"#;
    assert_eq!(guarded.reconciler().metric(excess), Some(3.0));
    let told = lower_on_trial(&guarded, "4");
    assert!(
        told.contains("the pool has 8 NodeClaims, so 4 stand above the limit; none is removed"),
        "{told}"
    );
    guarded
        .cluster
        .change_pool("general", &json!({"limits": {"nodes": "4"}}));
    guarded.linger(Duration::from_secs(20));
    let changes = claims.changes(guarded.cluster.client());
    assert_eq!(deleted_in_order(&changes), [""; 0], "{}", guarded.story());
    assert_eq!(claim_names(&guarded.cluster, "general").len(), 8);
    assert_eq!(
        guarded.cluster.events("general", "NodeLimitExceeded").len(),
        2,
        "{}",
        guarded.story()
    );
}

/// What a user is told who tries a limit without setting it.
fn lower_on_trial(guarded: &Guarded, limit: &str) -> String {
    let patch = json!({"spec": {"limits": {"nodes": limit}}}).to_string();
    let args = [
        "patch",
        "nodepool",
        "general",
        "--type=merge",
        "--dry-run=server",
        "-p",
        &patch,
    ];
    let answer = guarded.cluster.plane().kubectl(&args, "");
    assert!(answer.status.success(), "{answer:?}");
    answer.stderr
}

fn sorted(names: &[String]) -> BTreeSet<&String> {
    names.iter().collect()
}

/// When each NodeClaim was deleted, in order.
fn deletion_times(changes: &[Change]) -> Vec<Instant> {
    let mut seen = BTreeSet::new();
    let mut first =
        |change: &&Change| is_going(&change.object) && seen.insert(name(&change.object).to_owned());
    changes
        .iter()
        .filter(|change| first(change))
        .map(|change| change.at)
        .collect()
}
