//! What kubectl and `poolgate diff` print of an update that makes Karpenter replace nodes, before it is done.

use std::path::Path;

use poolgate_core::drift::template_hash;
use poolgate_core::json::Json;
use serde_json::{Value, json};

use crate::support::accounts::Account;
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::crds::V1;
use crate::support::files::directory;
use crate::support::fleet::Fleet;
use crate::support::nodeclaim::node_claim;
use crate::support::nodepool::node_pool;
use crate::support::poolgate::Poolgate;
use crate::support::shell::shell;

const POOL: &str = "/apis/karpenter.sh/v1/nodepools/fleet";

fn pool(team: &str, arch: &[&str]) -> Value {
    let mut pool = node_pool("fleet", &json!({"disruption": {"budgets": [{"nodes": "1"}]}}));
    let template = &mut pool["spec"]["template"];
    template["metadata"] = json!({"labels": {"team": team}});
    template["spec"]["expireAfter"] = json!("720h");
    template["spec"]["requirements"] =
        json!([{"key": "kubernetes.io/arch", "operator": "In", "values": arch}]);
    pool
}

fn hash(pool: &Value) -> String {
    let template = Json::from(&pool["spec"]["template"]);
    template_hash(&template).expect("a template of v1").to_string()
}

/// A NodeClaim that Karpenter would have made from this pool.
fn claim_of(pool: &Value, name: &str, arch: &str) -> Value {
    let mut claim = node_claim(name, "fleet");
    claim["metadata"]["labels"]["kubernetes.io/arch"] = json!(arch);
    claim["metadata"]["annotations"] =
        json!({"karpenter.sh/nodepool-hash": hash(pool), "karpenter.sh/nodepool-hash-version": "v3"});
    claim
}

#[test]
fn an_update_that_replaces_nodes_is_warned_of_with_the_nodes_that_go() {
    let plane = ControlPlane::start();
    plane.install_karpenter_crds(V1);
    let poolgate = Poolgate::serve_watching(&plane.kubeconfig_by(Account::Server), &[]);
    plane.register_webhooks(&poolgate.base_url(), &poolgate.ca());
    let client = Client::of(&plane);
    let (blue, red) = (
        pool("blue", &["amd64", "arm64"]),
        pool("red", &["amd64", "arm64"]),
    );
    client.apply_object(&blue);
    client.merge(&format!("{POOL}/status"), &json!({"status": {"nodes": 3}}));
    let warnings = |pool: &Value| {
        let answer = plane.kubectl(&["apply", "--dry-run=server", "-f", "-"], &pool.to_string());
        assert!(answer.status.success(), "{answer:?}");
        answer.stderr
    };
    // Karpenter watches NodeClaims; without it the API server has no cache of them, and the first list takes longer.
    let listed = plane.kubectl(&["get", "nodeclaims"], "");
    assert!(listed.status.success(), "{listed:?}");
    let unlisted = warnings(&red);
    assert!(
        !unlisted.contains("[drift]"),
        "a pool without NodeClaims: {unlisted}"
    );

    for (name, from, arch) in [
        ("fleet-a", &blue, "amd64"),
        ("fleet-b", &blue, "arm64"),
        ("fleet-c", &red, "arm64"),
    ] {
        client.create("/apis/karpenter.sh/v1/nodeclaims", &claim_of(from, name, arch));
    }
    for (change, replaced) in [
        (
            &red,
            "this change replaces 2 of 3 nodes: \"red\" [drift]. Karpenter replaces at most 1 at a time (budgets[0]).",
        ),
        (
            &pool("green", &["amd64", "arm64"]),
            "this change replaces all 3 nodes: \"green\" [drift]. Karpenter replaces at most 1 at a time",
        ),
        (
            &pool("blue", &["amd64"]),
            "spec.template.spec.requirements: this change replaces 2 of 3 nodes",
        ),
    ] {
        let warned = warnings(change);
        assert!(warned.contains(replaced), "{replaced}: {warned}");
    }
    let mut heavier = blue.clone();
    heavier["spec"]["weight"] = json!(7);
    for harmless in [&heavier, &pool("blue", &["amd64", "arm64", "s390x"])] {
        let warned = warnings(harmless);
        assert!(!warned.contains("[drift]"), "{warned}");
    }

    client.merge(
        POOL,
        &json!({"metadata": {"annotations": {
            "karpenter.sh/nodepool-hash": "1", "karpenter.sh/nodepool-hash-version": "v3",
        }}}),
    );
    let warned = warnings(&red);
    assert!(warned.contains("this change may replace 3 nodes"), "{warned}");
    let (_, metrics) = poolgate.probe("/metrics");
    assert_eq!(
        warned.matches("[drift]").count(),
        1,
        "one endpoint warns: {warned}"
    );
    assert!(
        metrics.contains("poolgate_drift_doubts_total{reason=\"stored\"} 1\n"),
        "it is counted once: {metrics}"
    );
}

/// What `diff` says of this pool against the cluster, as a file and as what kustomize renders from it.
fn compared_with(plane: &ControlPlane, folder: &Path, pool: &Value) -> Value {
    std::fs::write(folder.join("new.yaml"), pool.to_string()).expect("a file");
    let [file, rendered] = ["new.yaml", "--kustomize ."].map(|new| -> Value {
        let line = format!("poolgate diff --cluster -o json {new}");
        let outcome = shell(folder, Some(plane.kubeconfig()), &line);
        assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
        serde_json::from_str(&outcome.stdout).expect("JSON")
    });
    for part in ["/pools/0/drift", "/nodesAtStake", "/unchanged"] {
        assert_eq!(file.pointer(part), rendered.pointer(part), "{part}");
    }
    file
}

#[test]
fn manifests_that_are_compared_with_a_cluster_name_the_nodes_that_drift() {
    let plane = ControlPlane::start();
    plane.install_karpenter_crds(V1);
    let client = Client::of(&plane);
    let (blue, red) = (
        pool("blue", &["amd64", "arm64"]),
        pool("red", &["amd64", "arm64"]),
    );
    client.apply_object(&blue);
    for (name, from, arch) in [
        ("fleet-a", &blue, "amd64"),
        ("fleet-b", &blue, "arm64"),
        ("fleet-c", &red, "arm64"),
        ("fleet-d", &red, "arm64"),
    ] {
        let mut claim = claim_of(from, name, arch);
        if name == "fleet-b" {
            claim["spec"]["terminationGracePeriod"] = json!("1h");
        }
        client.create("/apis/karpenter.sh/v1/nodeclaims", &claim);
    }
    let folder = directory(&[("kustomization.yaml", "resources: [new.yaml]\n")]);
    let compared = |pool: &Value| compared_with(&plane, folder.path(), pool);
    for (change, drifting) in [
        (&red, json!(["fleet-a", "fleet-b"])),
        (
            &pool("blue", &["amd64"]),
            json!(["fleet-b", "fleet-c", "fleet-d"]),
        ),
    ] {
        let compared = compared(change);
        let pool = &compared["pools"][0];
        assert_eq!(pool["drift"]["nodeClaims"], drifting, "{compared}");
        let drifting = drifting.as_array().map(Vec::len);
        assert_eq!(
            (&pool["nodes"], &compared["nodesAtStake"]),
            (&json!(4), &json!(drifting))
        );
    }
    assert_eq!(compared(&blue)["unchanged"], 1);

    let mut fleet = Fleet::of(&plane);
    for claim in ["fleet-a", "fleet-b", "fleet-c", "fleet-d"] {
        fleet.node("fleet", claim);
        let status = json!({"status": {"nodeName": claim}});
        client.merge(
            &format!("/apis/karpenter.sh/v1/nodeclaims/{claim}/status"),
            &status,
        );
        fleet.pod_with(
            claim,
            &format!("on-{claim}"),
            "1",
            &match claim {
                "fleet-a" | "fleet-b" => json!({"karpenter.sh/do-not-disrupt": "true"}),
                _ => json!({}),
            },
        );
    }
    fleet.change_node(
        "fleet-c",
        &json!({"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}}),
    );
    client.create(
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
        &json!({"metadata": {"name": "blocking"}, "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "on-fleet-d"}}}}),
    );
    let labels = json!({"metadata": {"labels": {"app": "on-fleet-d"}}});
    client.merge("/api/v1/namespaces/default/pods/on-fleet-d", &labels);
    let kept = compared(&pool("green", &["amd64", "arm64"]));
    let drift = &kept["pools"][0]["drift"];
    assert_eq!(drift["title"], "this change replaces 1 of 4 nodes", "{kept}");
    assert_eq!(drift["nodeClaims"], json!(["fleet-b"]), "its drain has an end");
    for (claim, why) in [
        (
            "fleet-a",
            "pod default/on-fleet-a has the annotation karpenter.sh/do-not-disrupt",
        ),
        (
            "fleet-c",
            "the node has the annotation karpenter.sh/do-not-disrupt",
        ),
        ("fleet-d", "PodDisruptionBudget default/blocking"),
    ] {
        let said = drift["kept"][claim].as_str().expect("it is kept");
        assert!(said.contains(why), "{said}");
    }
    assert_eq!(kept["nodesAtStake"], 1);

    let other = node_pool("other", &json!({}));
    let line = compared(&other);
    assert_eq!(line["pools"][0]["change"], "vanishes", "{line}");
    assert_eq!(line["nodesAtStake"], 4);
}
