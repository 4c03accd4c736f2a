//! Pools that have more nodes than they may.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::guarded::Guarded;
use super::overrun::{ALONE, LIMIT, OVERRUN};
use super::shared::CONSOLIDATING;
use crate::support::full::full;
use crate::support::karpenter::KarpenterCluster;
use crate::support::karpenter::objects::{disruption_budget, node_pool, one_pod_a_node};
use crate::support::recording::{deleted_in_order, is_going, name};

/// For how long nothing more is to happen: long enough for many plans, and longer than the reconciler waits for things
/// to settle here.
const STEADY: Duration = Duration::from_secs(15);
/// How long after a termination the reconciler may do as many more as a minute has.
const MINUTE: Duration = Duration::from_mins(1);
const FINALIZER: &str = "poolgate.dev/test";

/// Eight nodes in a pool that may have eight and terminates what is above its limit: two without pods, one with a cheap
/// pod, five with plain ones. Those to go first, in order; the first two are alike.
fn eight_nodes(guarded: &Guarded, pool: &str, plain_that_may_go: u32) -> Vec<String> {
    let cluster = &guarded.cluster;
    // Empty nodes are to stay until they are victims.
    let spec = json!({"limits": {"nodes": "8"}, "disruption": {"consolidateAfter": "Never"}});
    let mut limited = node_pool(pool, &spec);
    limited["metadata"]["annotations"] = json!({"poolgate.dev/over-limit": "Terminate"});
    cluster.create_pool(&limited);
    let names = ["cheap", "spare", "plain"].map(|part| format!("{pool}-{part}"));
    let [cheap, spare, plain] = &names;
    cluster.create_in_default(
        "policy/v1",
        "poddisruptionbudgets",
        &disruption_budget(plain, plain_that_may_go),
    );
    for (name, pods) in [(cheap, 1), (spare, 2), (plain, 5)] {
        let mut deployment = one_pod_a_node(name, pool, pods);
        let pod = &mut deployment["spec"]["template"];
        // No two pods fit on one node.
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("1500m");
        if name == cheap {
            pod["metadata"]["annotations"] =
                json!({"controller.kubernetes.io/pod-deletion-cost": "-1000000000"});
        }
        cluster.deploy(&deployment);
    }
    guarded.wait_for("eight pods to run on eight nodes", |cluster| {
        let running = names
            .each_ref()
            .map(|name| cluster.pods_in_phase(name, "Running"));
        (running == [1, 2, 5] && cluster.claims(pool).len() == 8).then_some(())
    });
    // Karpenter counts seconds later.
    guarded.wait_for("the status to have eight nodes", |cluster| {
        let stored = cluster.plane().kubectl_json(&["get", "nodepool", pool], "");
        (stored["status"]["nodes"] == 8).then_some(())
    });
    let mut order = claims_under(cluster, pool, spare);
    order.extend(claims_under(cluster, pool, cheap));
    cluster.scale(spare, 0);
    guarded.wait_for("two nodes to be empty", |cluster| {
        cluster.pods_of(spare).is_empty().then_some(())
    });
    order
}

/// The NodeClaims of a pool whose nodes carry the pods of a Deployment.
fn claims_under(cluster: &KarpenterCluster, pool: &str, deployment: &str) -> Vec<String> {
    let nodes: BTreeSet<_> = cluster
        .pods_of(deployment)
        .iter()
        .filter_map(|pod| pod["spec"]["nodeName"].as_str().map(str::to_owned))
        .collect();
    let claims = cluster.claims(pool);
    let under = |claim: &&Value| nodes.contains(claim["status"]["nodeName"].as_str().unwrap_or_default());
    claims
        .iter()
        .filter(under)
        .map(|claim| name(claim).to_owned())
        .collect()
}

fn going(cluster: &KarpenterCluster, pool: &str) -> usize {
    cluster
        .claims(pool)
        .iter()
        .filter(|claim| is_going(claim))
        .count()
}

#[test]
fn a_lowered_limit_terminates_the_cheapest_nodes_and_no_more_however_long_they_take() {
    let guarded = CONSOLIDATING.get();
    let cluster = &guarded.cluster;
    let claims = cluster.record_claims("lowered");
    let right = eight_nodes(&guarded, "lowered", 1);
    for claim in cluster.claims("lowered") {
        let mut finalizers = finalizers(&claim);
        finalizers.push(json!(FINALIZER));
        cluster.set_finalizers(name(&claim), &finalizers);
    }

    let reported = lower_on_trial(&guarded, "lowered", "5");
    assert!(
        reported.contains("the pool's status reports 8 nodes, 3 above the limit")
            && reported.contains("A running reconciler terminates 3 nodes"),
        "{reported}"
    );
    cluster.change_pool("lowered", &json!({"limits": {"nodes": "5"}}));
    let lowered = Instant::now();
    guarded.wait_for("three victims", |cluster| {
        (going(cluster, "lowered") == 3).then_some(())
    });
    println!(
        "three victims {:?} after the limit was lowered",
        lowered.elapsed()
    );
    guarded.linger(if full() { MINUTE } else { STEADY });
    let order = deleted_in_order(&claims.changes(cluster.client()));
    assert_eq!(going(cluster, "lowered"), 3, "{}", guarded.story());
    // Two are alike; then comes the one with the cheap pod.
    assert_eq!(sorted(&order[..2]), sorted(&right[..2]), "{}", guarded.story());
    assert_eq!(order[2..], right[2..], "{}", guarded.story());
    assert_eq!(cluster.pods_in_phase("lowered-plain", "Running"), 5);

    for claim in cluster.claims("lowered") {
        let mut finalizers = finalizers(&claim);
        finalizers.retain(|one| one != FINALIZER);
        cluster.set_finalizers(name(&claim), &finalizers);
    }
    guarded.wait_for("three nodes to go", |cluster| {
        (cluster.claims("lowered").len() == 5).then_some(())
    });
    guarded.linger(STEADY);
    let order = deleted_in_order(&claims.changes(cluster.client()));
    assert_eq!(order.len(), 3, "{order:?}\n{}", guarded.story());
}

#[test]
fn terminations_keep_to_their_pace_and_to_pod_disruption_budgets() {
    let overrun = OVERRUN.get();
    let (guarded, cluster) = (&overrun.guarded, &overrun.guarded.cluster);
    let claims = cluster.record_claims("paced");
    let right = eight_nodes(guarded, "paced", 0);
    let lowered = Instant::now();
    cluster.change_pool("paced", &json!({"limits": {"nodes": "3"}}));
    guarded.wait_for("four victims", |_| {
        (deleted_in_order(&claims.so_far()).len() >= 4).then_some(())
    });
    // The fourth has a pod that must not be evicted: it drains as long as that is so.
    guarded.wait_for("three nodes to go", |cluster| {
        (cluster.claims("paced").len() == 5).then_some(())
    });
    // The fifth has to wait until the minute of the first is over, which began after the limit was lowered.
    guarded.linger(STEADY);
    let order = deleted_in_order(&claims.changes(cluster.client()));
    let soon = lowered.elapsed() < MINUTE;
    assert!(order.len() == 4 || !soon, "{order:?}\n{}", guarded.story());
    assert_eq!(sorted(&order[..3]), sorted(&right), "{}", guarded.story());
    assert_eq!(
        cluster.pods_in_phase("paced-plain", "Running"),
        5,
        "{}",
        guarded.story()
    );
    if full() {
        guarded.wait_for("the fifth victim", |cluster| {
            (going(cluster, "paced") == 2).then_some(())
        });
        println!(
            "the fifth termination {:?} after the limit was lowered",
            lowered.elapsed()
        );
    }
}

#[test]
fn a_pool_that_was_overrun_before_poolgate_came_loses_no_node() {
    let overrun = OVERRUN.get();
    let (guarded, cluster) = (&overrun.guarded, &overrun.guarded.cluster);
    let nodes = overrun.outcome.nodes;
    assert!(nodes > LIMIT, "Karpenter alone overran nothing");
    let events = || cluster.events(ALONE, "NodeLimitExceeded").len();
    let reported = |times: usize| guarded.wait_for("an event", |_| (events() == times).then_some(()));
    reported(1);
    guarded.wait_for("the number of nodes above the limit", |_| {
        (guarded.number("excess_nodes", ALONE) == Some(nodes - LIMIT)).then_some(())
    });
    let said = lower_on_trial(guarded, ALONE, "4");
    let above = nodes - 4;
    let right = format!("the pool's status reports {nodes} nodes, {above} above the limit");
    assert!(
        said.contains(&right) && said.contains("No node is removed"),
        "{said}"
    );
    cluster.change_pool(ALONE, &json!({"limits": {"nodes": "4"}}));
    reported(2);
    guarded.linger(STEADY);
    let changes = overrun.claims.changes(cluster.client());
    assert_eq!(deleted_in_order(&changes), [""; 0], "{}", guarded.story());
    assert_eq!(cluster.claims(ALONE).len(), nodes);
    assert_eq!(events(), 2, "{}", guarded.story());
}

/// The answer to a dry run of a limit.
fn lower_on_trial(guarded: &Guarded, pool: &str, limit: &str) -> String {
    let patch = json!({"spec": {"limits": {"nodes": limit}}}).to_string();
    let args = [
        "patch",
        "nodepool",
        pool,
        "--type=merge",
        "--dry-run=server",
        "-p",
        &patch,
    ];
    let answer = guarded.cluster.plane().kubectl(&args, "");
    assert!(answer.status.success(), "{answer:?}");
    answer.stderr
}

fn finalizers(claim: &Value) -> Vec<Value> {
    claim["metadata"]["finalizers"]
        .as_array()
        .cloned()
        .unwrap_or_default()
}

fn sorted(names: &[String]) -> BTreeSet<&String> {
    names.iter().collect()
}
