//! A full pool whose pods wait, and what that costs the other pools.

use std::time::Duration;

use serde_json::json;

use super::beside::Beside;
use super::guarded::Guarded;
use crate::support::crds::running_karpenter;
use crate::support::full::full;
use crate::support::karpenter::objects::{annotated_pool, disruption_budget, limited_pool, one_pod_a_node};
use crate::support::recording;

/// Each pod that waits makes Karpenter look every ten seconds: ten times so far apart, they leave it no quiet second.
const APART: Duration = Duration::from_millis(1_200);

/// How many pods another pool is asked for, one after the other.
const SERVED: usize = 4;

/// Where the limit of the full pool is.
#[derive(Clone, Copy, Debug)]
enum Limit {
    Spec,
    Annotation,
}

/// A pool at its limit, one of its nodes held up in its drain, and pods that wait for another node.
fn crowded(guarded: &Guarded, limit: Limit, waiting: u32) {
    let cluster = &guarded.cluster;
    let spec = json!({"disruption": {"nodeLimitMode": "Hard"}});
    cluster.create_pool(&match limit {
        Limit::Spec => limited_pool("full", &spec, 5),
        Limit::Annotation => annotated_pool("full", &spec, 5),
    });
    cluster.create_in_default(
        "policy/v1",
        "poddisruptionbudgets",
        &disruption_budget("filling", 0),
    );
    cluster.deploy(&one_pod_a_node("filling", "full", 5));
    guarded.wait_until_running("filling", 5);
    let claim = recording::name(&cluster.claims("full")[0]).to_owned();
    cluster.delete_claim(&claim);
    cluster.deploy(&one_pod_a_node("crowd", "full", 0));
    for step in 1..=10 {
        cluster.scale("crowd", waiting * step / 10);
        guarded.linger(APART);
    }
    // The back-off grows with every failure.
    guarded.linger(Duration::from_secs(if full() { 45 } else { 15 }));
}

#[test]
fn pods_that_wait_for_a_full_pool_cost_no_other_pool_anything_where_its_limit_is_left_to_poolgate() {
    let guarded = Guarded::start(&[]);
    guarded.review_pools();
    let claims = guarded.cluster.record_claims("full");
    crowded(&guarded, Limit::Annotation, 10);
    guarded.wait_for("the draining node to be taken off the limit", |cluster| {
        let pool = cluster.client().get("/apis/karpenter.sh/v1/nodepools/full")?;
        (pool["spec"]["limits"]["nodes"] == "4").then_some(())
    });
    let before = guarded.denials("Hard");
    let mut beside = Beside::create(&guarded);
    let times = beside.ask_times(SERVED);
    let denied = guarded.denials("Hard") - before;
    println!("served after {times:.1?}; {before} creations denied before, {denied} meanwhile");
    assert_eq!(denied, 0, "{}", guarded.story());
    assert!(beside.is_served(), "{}", guarded.story());
    assert_eq!(guarded.most(&claims), 5, "{}", guarded.story());

    // The place that comes free is used, and no more.
    let draining = guarded.cluster.claims("full");
    let draining = draining
        .iter()
        .find(|claim| claim["metadata"]["deletionTimestamp"].is_string());
    let draining = recording::name(draining.expect("a claim that drains")).to_owned();
    guarded
        .cluster
        .client()
        .delete("/apis/policy/v1/namespaces/default/poddisruptionbudgets/filling");
    guarded.wait_for("the place to be taken by another node", |cluster| {
        let claims = cluster.claims("full");
        let is_over = claims.iter().all(|claim| recording::name(claim) != draining);
        (is_over && claims.len() == 5).then_some(())
    });
    assert_eq!(guarded.most(&claims), 5, "{}", guarded.story());
}

/// Prints one line of a table for each number of pods that wait.
fn measure(limit: Limit) {
    std::thread::scope(|scope| {
        for waiting in [0, 1, 10, 100] {
            scope.spawn(move || measure_with(limit, waiting));
        }
    });
}

fn measure_with(limit: Limit, waiting: u32) {
    let guarded = Guarded::start(&[]);
    guarded.review_pools();
    let claims = guarded.cluster.record_claims("full");
    crowded(&guarded, limit, waiting);
    let before = guarded.denials("Hard");
    let mut beside = Beside::create(&guarded);
    let times = beside.ask_times(SERVED);
    let denied = guarded.denials("Hard") - before;
    let release = running_karpenter();
    println!(
        "{release}, {limit:?}, {waiting} wait: {times:.1?}; {before} creations denied before, {denied} meanwhile"
    );
    assert_eq!(guarded.most(&claims), 5, "{}", guarded.story());
    let is_asked = matches!(limit, Limit::Spec) && waiting > 0;
    assert_eq!(denied > 0, is_asked, "{}", guarded.story());
}

#[test]
#[ignore = "long: .ci/nightly"]
fn pods_that_wait_for_a_full_pool_slow_the_others_down_where_the_limit_is_in_its_spec() {
    measure(Limit::Spec);
}

#[test]
#[ignore = "long: .ci/nightly"]
fn however_many_pods_wait_for_a_full_pool_none_is_asked_for_where_its_limit_is_left_to_poolgate() {
    measure(Limit::Annotation);
}
