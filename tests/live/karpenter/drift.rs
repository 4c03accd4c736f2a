//! Drifted nodes at a Hard limit: each would need a replacement for which there is no place.

use std::time::{Duration, Instant};

use serde_json::json;

use super::guarded::{Guarded, PROVISION, observation};
use crate::support::karpenter::look::{claim_names, disrupted, of_pool};
use crate::support::karpenter::objects::{node_pool, one_pod_a_node};
use crate::support::recording::{Change, counts, peak, spells};

/// The time in which Karpenter tries once to replace a node: it looks again every ten seconds.
const ONE_TRY: Duration = Duration::from_secs(15);
/// Refusals until the nodes are held; a series would go on as long as the test looks.
const NO_SERIES: usize = 2;
/// How soon a place that becomes free is used.
const GOES_ON: Duration = Duration::from_secs(30);
/// How soon Karpenter replaces two nodes of a pool without a limit. It takes 20 s where nobody is refused, and more
/// than three minutes beside a full pool whose nodes nobody holds.
const UNDELAYED: Duration = Duration::from_mins(1);

fn full_pool(guarded: &mut Guarded, pods: u32) {
    let spec = json!({"limits": {"nodes": "5"}, "disruption": {"nodeLimitMode": "Hard"}});
    guarded.cluster.create_pool(&node_pool("full", &spec));
    guarded.cluster.deploy(&one_pod_a_node("web", "full", pods));
    guarded.wait_for("five pods to run", PROVISION, |cluster| {
        (cluster.pods_in_phase("web", "Running") == 5).then_some(())
    });
}

#[test]
fn drifted_nodes_at_a_hard_limit_stay_open_other_pools_go_on_and_one_more_place_lets_drift_go_on() {
    let mut guarded = Guarded::start(&[]);
    let (claims, nodes) = (guarded.cluster.record_claims(), guarded.cluster.record_nodes());
    guarded.cluster.create_pool(&node_pool("other", &json!({})));
    guarded.cluster.deploy(&one_pod_a_node("side", "other", 2));
    full_pool(&mut guarded, 5);
    guarded.wait_for("the other pool's pods", PROVISION, |cluster| {
        (cluster.pods_in_phase("side", "Running") == 2).then_some(())
    });
    let before = guarded.refusals();
    let old = claim_names(&guarded.cluster, "full");

    guarded.cluster.drift("full", "second");
    guarded.linger(observation() / 2);
    let other = replace_all(&mut guarded, "other", 2);
    guarded.linger(observation() / 2);
    let refused = guarded.refusals() - before;
    let closed = report_taints(&nodes.changes(guarded.cluster.client()), "full");
    println!("refused {refused}, closed {closed:?}, the other pool's two nodes replaced after {other:?}");
    assert!(refused <= NO_SERIES, "{refused} refusals\n{}", guarded.story());
    assert!(closed <= ONE_TRY, "{closed:?}\n{}", guarded.story());
    assert!(other <= UNDELAYED, "{other:?}\n{}", guarded.story());
    assert_eq!(claim_names(&guarded.cluster, "full"), old);

    let raised = Instant::now();
    guarded
        .cluster
        .change_pool("full", &json!({"limits": {"nodes": "6"}}));
    let begun = guarded.wait_for("drift to go on", PROVISION, |cluster| {
        (claim_names(cluster, "full") != old).then(|| raised.elapsed())
    });
    guarded.wait_for("all nodes to be replaced", PROVISION, |cluster| {
        let now = claim_names(cluster, "full");
        (now.len() == 5 && now.is_disjoint(&old)).then_some(())
    });
    println!(
        "drift went on after {begun:?}, five nodes replaced after {:?}",
        raised.elapsed()
    );
    assert!(begun <= GOES_ON, "{begun:?}\n{}", guarded.story());
    let (claims, nodes) = (
        claims.changes(guarded.cluster.client()),
        nodes.changes(guarded.cluster.client()),
    );
    assert_eq!(peak(&counts(&claims, of_pool("full"))), 6);
    let closed = counts(&nodes, |node| of_pool("full")(node) && disrupted(node));
    assert_eq!(peak(&closed), 1, "not one at a time\n{}", guarded.story());
    let refused = guarded.refusals() - before;
    assert!(refused <= NO_SERIES, "{refused} refusals\n{}", guarded.story());
}

#[test]
fn drifted_nodes_at_a_hard_limit_stay_open_while_pods_wait_and_an_emptied_node_goes() {
    let mut guarded = Guarded::start(&[]);
    let (claims, nodes) = (guarded.cluster.record_claims(), guarded.cluster.record_nodes());
    full_pool(&mut guarded, 30);
    let before = guarded.refusals();
    let old = claim_names(&guarded.cluster, "full");

    guarded.cluster.drift("full", "second");
    guarded.linger(observation());
    let refused = guarded.refusals() - before;
    let closed = report_taints(&nodes.changes(guarded.cluster.client()), "full");
    println!("refused {refused}, closed {closed:?}");
    assert!(refused <= NO_SERIES, "{refused} refusals\n{}", guarded.story());
    assert!(closed <= ONE_TRY, "{closed:?}\n{}", guarded.story());
    assert_eq!(claim_names(&guarded.cluster, "full"), old);

    guarded.cluster.scale("web", 3);
    let scaled = Instant::now();
    // Two nodes are empty, and with their places the other three are replaced.
    guarded.wait_for("emptied nodes to go and drift to go on", PROVISION, |cluster| {
        let now = claim_names(cluster, "full");
        (now.len() == 3 && now.is_disjoint(&old)).then_some(())
    });
    let refused = guarded.refusals() - before;
    println!(
        "two emptied nodes gone and three replaced after {:?}, {refused} refused",
        scaled.elapsed()
    );
    assert!(refused <= NO_SERIES, "{refused} refusals\n{}", guarded.story());
    let history = counts(&claims.changes(guarded.cluster.client()), of_pool("full"));
    assert_eq!(peak(&history), 5);
}

/// Lets a pool drift and waits until all of its nodes are new; how long that took.
fn replace_all(guarded: &mut Guarded, pool: &str, nodes: usize) -> Duration {
    let begun = Instant::now();
    let old = claim_names(&guarded.cluster, pool);
    guarded.cluster.drift(pool, "second");
    guarded.wait_for("the nodes to be replaced", PROVISION, |cluster| {
        let now = claim_names(cluster, pool);
        (now.len() == nodes && now.is_disjoint(&old)).then_some(())
    });
    begun.elapsed()
}

/// The longest time for which a node of the pool was closed to pods.
fn report_taints(changes: &[Change], pool: &str) -> Duration {
    let closed = spells(changes, |node| of_pool(pool)(node) && disrupted(node));
    let lasted = |(_, from, to): (String, Instant, Option<Instant>)| to.unwrap_or_else(Instant::now) - from;
    closed.into_iter().map(lasted).max().unwrap_or_default()
}
