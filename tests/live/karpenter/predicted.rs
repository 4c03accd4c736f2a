//! Which nodes an update makes Karpenter replace: `poolgate diff` says it before, real Karpenter does it.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::guarded::Guarded;
use crate::support::karpenter::KarpenterCluster;
use crate::support::karpenter::look::{annotation, claim_names, condition};
use crate::support::karpenter::objects::{MEDIUM, SMALL, node_pool, pods};
use crate::support::nodepool::merge;
use crate::support::program;

const HASH: &str = "karpenter.sh/nodepool-hash";

/// The pools, and what is merged into the spec of each: one small node and one medium one drift, or fewer.
fn updates() -> [(&'static str, usize, Value); 6] {
    let template = |spec: Value| json!({"template": {"spec": spec}});
    let only = |size: &str| {
        json!([
            {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
            {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": [size]},
        ])
    };
    [
        (
            "label",
            2,
            json!({"template": {"metadata": {"labels": {"team": "two"}}}}),
        ),
        ("narrowed", 1, template(json!({"requirements": only(SMALL)}))),
        (
            "taint",
            2,
            template(json!({"taints": [{"key": "new", "effect": "NoExecute"}]})),
        ),
        ("expiry", 2, template(json!({"expireAfter": "720h"}))),
        ("weight", 0, json!({"weight": 7})),
        (
            "revert",
            0,
            json!({"template": {"metadata": {"labels": {"team": "one"}}}}),
        ),
    ]
}

/// A pool of small and medium machines whose nodes all stay.
fn pool(name: &str) -> Value {
    let requirement = |key: &str, values: &[&str]| json!({"key": key, "operator": "In", "values": values});
    node_pool(
        name,
        &json!({
            "template": {
                "metadata": {"labels": {"team": "one"}},
                "spec": {"requirements": [
                    requirement("karpenter.sh/capacity-type", &["on-demand"]),
                    requirement("node.kubernetes.io/instance-type", &[SMALL, MEDIUM]),
                ]},
            },
            "disruption": {"budgets": [{"nodes": "0"}]},
        }),
    )
}

/// The NodeClaims that `poolgate diff --cluster` says are replaced.
fn predicted(cluster: &KarpenterCluster, name: &str, update: &Value) -> BTreeSet<String> {
    let mut wanted = pool(name);
    merge(&mut wanted["spec"], update);
    let file = cluster.plane().directory().join(format!("{name}.json"));
    fs::write(&file, wanted.to_string()).expect("a file");
    let kubeconfig = cluster.plane().kubeconfig().to_str().expect("a path");
    let file = file.to_str().expect("a path");
    let flags = [
        "diff",
        "--cluster",
        "--kubeconfig",
        kubeconfig,
        "--output",
        "json",
        file,
    ];
    let said: Value = serde_json::from_str(&program::run(&flags, "").success()).expect("JSON");
    let pools = said["pools"].as_array().expect("a list").iter();
    let mut its = pools.filter(|pool| pool["name"] == name && pool["change"] == "changes");
    let claims = its
        .next()
        .map(|pool| pool["drift"]["nodeClaims"].clone())
        .unwrap_or_default();
    let claims = claims.as_array().into_iter().flatten();
    claims
        .map(|claim| claim.as_str().expect("a name").to_owned())
        .collect()
}

/// Those that Karpenter has marked.
fn marked(cluster: &KarpenterCluster, name: &str) -> BTreeSet<String> {
    let drifted = |claim: &&Value| condition(claim, "Drifted") == "True";
    let claims = cluster.claims(name);
    let names = claims
        .iter()
        .filter(drifted)
        .map(|claim| claim["metadata"]["name"].as_str());
    names.map(|name| name.expect("a name").to_owned()).collect()
}

fn hash(cluster: &KarpenterCluster, name: &str) -> Option<String> {
    let pool = cluster
        .client()
        .get(&format!("/apis/karpenter.sh/v1/nodepools/{name}"))?;
    annotation(&pool, HASH).map(str::to_owned)
}

#[test]
fn karpenter_marks_the_nodes_that_poolgate_says_an_update_replaces() {
    let guarded = Guarded::unguarded();
    let updates = updates();
    for (name, ..) in &updates {
        guarded.cluster.create_pool(&pool(name));
        guarded
            .cluster
            .deploy(&pods(&format!("{name}-small"), name, 1, "1500m"));
        guarded.wait_until_running(&format!("{name}-small"), 1);
        guarded
            .cluster
            .deploy(&pods(&format!("{name}-medium"), name, 1, "3"));
    }
    for (name, ..) in &updates {
        guarded.wait_until_running(&format!("{name}-medium"), 1);
        assert_eq!(
            claim_names(&guarded.cluster, name).len(),
            2,
            "{}",
            guarded.story()
        );
    }
    // What is reverted has drifted before.
    let first = hash(&guarded.cluster, "revert");
    let other = json!({"template": {"metadata": {"labels": {"team": "two"}}}});
    guarded.cluster.change_pool("revert", &other);
    guarded.wait_for("the nodes to drift", |cluster| {
        (marked(cluster, "revert").len() == 2).then_some(())
    });

    let said = updates.each_ref().map(|(name, count, update)| {
        let said = predicted(&guarded.cluster, name, update);
        assert_eq!(said.len(), *count, "{name}: {said:?}");
        said
    });
    for (name, _, update) in &updates {
        guarded.cluster.change_pool(name, update);
    }
    let is_so = |cluster: &KarpenterCluster| {
        let mut all = updates.iter().zip(&said);
        all.all(|((name, ..), said)| marked(cluster, name) == *said) && hash(cluster, "revert") == first
    };
    guarded.wait_for("the nodes to drift that should", |cluster| {
        is_so(cluster).then_some(())
    });
    guarded.linger(std::time::Duration::from_secs(20));
    assert!(is_so(&guarded.cluster), "{}", guarded.story());
}
