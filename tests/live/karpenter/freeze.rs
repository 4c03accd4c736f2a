//! `poolgate freeze` before real Karpenter: nothing drifts away and nothing is consolidated until it ends.

use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::guarded::Guarded;
use crate::support::full::full;
use crate::support::karpenter::look::{annotation, claim_names, condition, disrupted};
use crate::support::karpenter::objects::{node_pool, one_pod_a_node};
use crate::support::program;
use crate::support::recording::spells;

/// How long pools are frozen: several of Karpenter's looks at what to disrupt.
fn length() -> Duration {
    Duration::from_secs(if full() { 300 } else { 80 })
}

/// How often what applies the manifests of git does so.
const SYNC: Duration = Duration::from_secs(10);

/// Within this time a node that is initialized is marked.
const IN_TIME: Duration = Duration::from_secs(10);

fn is_marked(node: &Value) -> bool {
    annotation(node, "poolgate.dev/held-for") == Some("freeze")
}

#[test]
fn a_frozen_pool_neither_drifts_nor_is_consolidated_until_its_time_whatever_is_restarted_or_applied() {
    let guarded = Guarded::start(&[]);
    let cluster = &guarded.cluster;
    let manifests = ["drifting", "shrinking"].map(|name| node_pool(name, &json!({})));
    let sync = |generation: &str| {
        for (mut manifest, path) in manifests.iter().cloned().zip(["drifting", "shrinking"]) {
            manifest["spec"]["template"]["metadata"]["labels"]["generation"] = json!(generation);
            let path = format!("/apis/karpenter.sh/v1/nodepools/{path}");
            cluster.client().apply_by("git", &path, &manifest.to_string());
        }
    };
    sync("first");
    for (pool, pods) in [("drifting", 2), ("shrinking", 3)] {
        cluster.deploy(&one_pod_a_node(pool, pool, pods));
        guarded.wait_until_running(pool, pods as usize);
    }
    let nodes = ["drifting", "shrinking"].map(|pool| cluster.record_nodes(pool));
    let ends = Instant::now() + length();
    let until = Timestamp::now() + jiff::SignedDuration::try_from(length()).expect("seconds");
    let kubeconfig = cluster.plane().kubeconfig().to_str().expect("a path").to_owned();
    let said = program::run(
        &[
            "freeze",
            "--all",
            "--until",
            &until.to_string(),
            "--reason=a test",
            "--kubeconfig",
            &kubeconfig,
        ],
        "",
    );
    assert!(said.status.success(), "{said:?}\n{}", guarded.story());
    // One may become initialized only now.
    guarded.wait_until_held("drifting", 2);
    guarded.wait_until_held("shrinking", 3);

    // All that would disrupt nodes begins, and the reconciler dies.
    let drifting = claim_names(cluster, "drifting");
    let shrinking = claim_names(cluster, "shrinking");
    sync("second");
    cluster.scale("shrinking", 1);
    guarded.kill_reconciler();
    guarded.wait_for("the nodes to have drifted", |cluster| {
        let claims = cluster.claims("drifting");
        claims
            .iter()
            .all(|claim| condition(claim, "Drifted") == "True")
            .then_some(())
    });
    guarded.reconcile(&[]);
    guarded.wait_for("the next reconciler to lead", |_| {
        (guarded.reconciler_metric("poolgate_leader") == Some(1.0)).then_some(())
    });
    // A new node is marked in time.
    cluster.scale("drifting", 3);
    guarded.wait_until_running("drifting", 3);
    let seen = Instant::now();
    guarded.wait_for("the new node to be marked", |cluster| {
        cluster.nodes("drifting").iter().all(is_marked).then_some(())
    });
    println!("the new node was marked within {:?}", seen.elapsed());
    if full() {
        assert!(seen.elapsed() <= IN_TIME, "{:?}", seen.elapsed());
    }
    while Instant::now() + SYNC < ends {
        sync("second");
        guarded.linger(SYNC);
    }
    assert!(
        claim_names(cluster, "drifting").is_superset(&drifting),
        "{}",
        guarded.story()
    );
    assert_eq!(
        claim_names(cluster, "shrinking"),
        shrinking,
        "{}",
        guarded.story()
    );
    for recording in &nodes {
        let changes = recording.changes(cluster.client());
        assert_eq!(spells(&changes, disrupted).len(), 0, "{}", guarded.story());
    }
    thread::sleep(ends.saturating_duration_since(Instant::now()));
    guarded.wait_for("drift to go on and the empty nodes to go", |cluster| {
        let is_new = claim_names(cluster, "drifting").is_disjoint(&drifting);
        let marked = ["drifting", "shrinking"]
            .map(|pool| cluster.nodes(pool).iter().filter(|node| is_marked(node)).count());
        (is_new && claim_names(cluster, "shrinking").len() == 1 && marked == [0, 0]).then_some(())
    });
    println!(
        "drift and consolidation were over {:?} after the freeze",
        ends.elapsed()
    );
}
