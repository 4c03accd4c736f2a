//! A node that cannot finish draining keeps its place in a Hard pool, while Karpenter no longer counts it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::guarded::{Guarded, PROVISION};
use crate::support::karpenter::KarpenterCluster;
use crate::support::karpenter::look::{claim_names, of_pool};
use crate::support::karpenter::objects::{disruption_budget, node_pool, one_pod_a_node, pods};
use crate::support::recording::{counts, peak};

const LIMIT: usize = 3;
/// How long the drain that nobody helps is watched.
const STUCK: Duration = Duration::from_secs(40);

/// A full Hard pool of high weight, a pool without limit of low weight, pods that both could serve, two on each
/// node, of which one at a time may be evicted. Then a user deletes a node.
fn draining(guarded: &mut Guarded, grace_period: &Value) -> String {
    let first = json!({
        "weight": 10,
        "limits": {"nodes": LIMIT.to_string()},
        "disruption": {"nodeLimitMode": "Hard"},
        "template": {"spec": {"terminationGracePeriod": grace_period}},
    });
    guarded.cluster.create_pool(&node_pool("first", &first));
    guarded
        .cluster
        .create_pool(&node_pool("second", &json!({"weight": 1})));
    guarded.cluster.create_pool(&node_pool("aside", &json!({})));
    guarded
        .cluster
        .create_in_default("policy/v1", "poddisruptionbudgets", &disruption_budget("web", 1));
    let mut web = pods("web", "", 6, "900m");
    web["spec"]["template"]["spec"]["nodeSelector"] = Value::Null;
    web["spec"]["template"]["spec"]["affinity"] = json!({"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "karpenter.sh/nodepool", "operator": "In", "values": ["first", "second"]},
        ]}]},
    }});
    guarded.cluster.deploy(&web);
    guarded.wait_for("six pods to run on three nodes", PROVISION, |cluster| {
        let running = cluster.pods_in_phase("web", "Running") == 6;
        (running && cluster.claims("first").len() == LIMIT).then_some(())
    });
    let claim = claim_names(&guarded.cluster, "first")
        .pop_first()
        .expect("a NodeClaim");
    guarded.cluster.delete_claim(&claim);
    claim
}

fn pending(cluster: &KarpenterCluster) -> usize {
    cluster.pods_in_phase("web", "Pending")
}

#[test]
fn a_drain_that_is_held_up_keeps_its_place_is_named_and_ends_when_the_limit_becomes_soft() {
    let mut guarded = Guarded::start(&[]);
    let claims = guarded.cluster.record_claims();
    let claim = draining(&mut guarded, &Value::Null);
    let before = guarded.refusals();
    guarded.wait_for("a pod to be evicted", PROVISION, |cluster| {
        (pending(cluster) == 1).then_some(())
    });
    let node = guarded.cluster.node_of(&claim);
    let begun = Instant::now();
    guarded.cluster.deploy(&one_pod_a_node("lone", "aside", 1));
    let aside = guarded.wait_for("a pod of another pool to run", PROVISION, |cluster| {
        (cluster.pods_in_phase("lone", "Running") == 1).then(|| begun.elapsed())
    });
    guarded.linger(STUCK);
    println!(
        "after {:?} {} pods wait, {} creations refused, {} nodes in the second pool; a pod for another pool ran after {aside:?}",
        begun.elapsed(),
        pending(&guarded.cluster),
        guarded.refusals() - before,
        guarded.cluster.claims("second").len(),
    );
    let told = guarded.cluster.events("first", "NodeLimitReached");
    assert!(
        told.iter().any(|event| message(event).contains(&node)),
        "no event names {node}: {told:?}\n{}",
        guarded.story()
    );

    guarded
        .cluster
        .change_pool("first", &json!({"disruption": {"nodeLimitMode": "Soft"}}));
    let softened = Instant::now();
    guarded.wait_for("the drain to end and all pods to run", PROVISION, |cluster| {
        let running = cluster.pods_in_phase("web", "Running") == 6;
        (running && !claim_names(cluster, "first").contains(&claim)).then_some(())
    });
    println!("with Soft the drain ended after {:?}", softened.elapsed());
    let history = counts(&claims.changes(guarded.cluster.client()), of_pool("first"));
    assert!(peak(&history) <= LIMIT + 1);
}

#[test]
fn a_termination_grace_period_ends_a_drain_that_is_held_up_within_the_limit() {
    let mut guarded = Guarded::start(&[]);
    let claims = guarded.cluster.record_claims();
    let claim = draining(&mut guarded, &json!("30s"));
    let begun = Instant::now();
    guarded.wait_for("the drain to end and all pods to run", PROVISION, |cluster| {
        let running = cluster.pods_in_phase("web", "Running") == 6;
        (running && !claim_names(cluster, "first").contains(&claim)).then_some(())
    });
    println!(
        "with a grace period of 30 s all was over after {:?}, {} refusals, {} nodes in the second pool",
        begun.elapsed(),
        guarded.refusals(),
        guarded.cluster.claims("second").len()
    );
    let history = counts(&claims.changes(guarded.cluster.client()), of_pool("first"));
    assert_eq!(peak(&history), LIMIT);
}

fn message(event: &Value) -> &str {
    event["message"].as_str().unwrap_or_default()
}
