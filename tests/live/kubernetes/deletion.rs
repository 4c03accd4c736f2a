//! Deletions of NodePools on a real API server, with the registration as it is shipped.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::support::chart::charted;
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::crds::V1;
use crate::support::files::directory;
use crate::support::nodepool::node_pool;
use crate::support::poolgate::Poolgate;
use crate::support::process::Outcome;
use crate::support::wait::wait_for;

const POOLS: &str = "/apis/karpenter.sh/v1/nodepools";
const POLICY: &str =
    "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\ndeletion: {acknowledge: {pools: [prod-*]}}\n";
const GARBAGE_COLLECTOR: &str = "--as=system:serviceaccount:kube-system:generic-garbage-collector";

/// The registration of component `deletion`, which calls this server.
fn registration(poolgate: &Poolgate) -> Value {
    let values = ["--set=deletion.enabled=true", "--set=exemptPools={prod-exempt}"];
    let mut shipped = charted(&values)["ValidatingWebhookConfiguration  poolgate-deletion"].clone();
    shipped["webhooks"][0]["clientConfig"] = json!({
        "url": format!("{}/validate/delete", poolgate.base_url()),
        "caBundle": STANDARD.encode(poolgate.ca()),
    });
    shipped["webhooks"][0]["timeoutSeconds"] = json!(30);
    shipped
}

fn delete(plane: &ControlPlane, pool: &str, arguments: &[&str]) -> Outcome {
    let begin = ["delete", "nodepool", pool, "--wait=false"];
    plane.kubectl(&[&begin[..], arguments].concat(), "")
}

#[track_caller]
fn expect_denied(outcome: &Outcome, pool: &str) {
    for words in [
        &format!("The NodePool \"{pool}\" is invalid: metadata.annotations[poolgate.dev/allow-delete]: "),
        &format!("kubectl annotate --overwrite nodepool {pool} poolgate.dev/allow-delete={pool}"),
        &format!("this drains all 3 nodes immediately, past every budget: \"{pool}\""),
    ] {
        assert!(outcome.stderr.contains(words), "{words}: {outcome:?}");
    }
    assert!(!outcome.status.success(), "{outcome:?}");
}

#[track_caller]
fn expect_deleted(outcome: &Outcome, is_warned: bool) {
    assert!(outcome.status.success(), "{outcome:?}");
    assert_eq!(outcome.stderr.contains("[deletion]"), is_warned, "{outcome:?}");
}

/// How many deletions the server was asked about.
fn asked(poolgate: &Poolgate) -> usize {
    let (_, metrics) = poolgate.probe("/metrics");
    let reviews = metrics
        .lines()
        .filter(|line| line.starts_with("poolgate_webhook_reviews_total") && line.contains("\"DELETE\""));
    let counts = reviews.filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok());
    counts.sum()
}

#[test]
fn a_pool_with_nodes_that_the_policy_names_is_deleted_only_with_its_name_in_the_annotation() {
    let plane = ControlPlane::start();
    plane.install_karpenter_crds(V1);
    let client = Client::of(&plane);
    let store = |name: &str, status: Value| {
        client.apply_object(&node_pool(name, &json!({})));
        client.merge(&format!("{POOLS}/{name}/status"), &json!({"status": status}));
    };
    for name in [
        "dev-a",
        "dev-b",
        "prod-a",
        "prod-b",
        "prod-c",
        "prod-d",
        "prod-exempt",
    ] {
        store(name, json!({"nodes": 3}));
    }
    store("prod-empty", json!({"nodes": 0}));
    client.apply_object(&node_pool("prod-new", &json!({})));

    let files = directory(&[("policy.yaml", POLICY)]);
    let policy = files.path().join("policy.yaml");
    let poolgate = Poolgate::serve_with(&["--policy", policy.to_str().expect("a path")]);
    client.apply_object(&registration(&poolgate));
    let denied = wait_for("the registration to take effect", || {
        let outcome = delete(&plane, "prod-a", &["--dry-run=server"]);
        (!outcome.status.success()).then_some(outcome)
    });
    expect_denied(&denied, "prod-a");

    expect_deleted(&delete(&plane, "dev-a", &["--dry-run=server"]), true);
    assert!(client.get(&format!("{POOLS}/dev-a")).is_some());
    expect_deleted(&delete(&plane, "dev-a", &[]), true);
    assert!(client.get(&format!("{POOLS}/dev-a")).is_none());

    for pool in ["prod-empty", "prod-new"] {
        expect_deleted(&delete(&plane, pool, &[]), false);
    }
    for cascade in ["--cascade=background", "--cascade=foreground"] {
        expect_denied(&delete(&plane, "prod-b", &[cascade]), "prod-b");
    }
    let before = asked(&poolgate);
    expect_deleted(&delete(&plane, "prod-b", &["--cascade=orphan"]), false);
    expect_deleted(&delete(&plane, "prod-exempt", &[]), false);
    expect_deleted(&delete(&plane, "prod-c", &[GARBAGE_COLLECTOR]), false);
    assert_eq!(
        asked(&poolgate),
        before,
        "the API server decides about these itself"
    );
    // It waits for the garbage collector, which does not run here.
    let orphaning = client.get(&format!("{POOLS}/prod-b")).expect("the pool");
    assert_eq!(orphaning["metadata"]["finalizers"], json!(["orphan"]));
    expect_deleted(&delete(&plane, "prod-b", &[]), false);

    // As a tool that deletes all that matches: admission is asked about each object, and the request has no name.
    let error = client
        .try_delete(POOLS, &json!({"propagationPolicy": "Background"}))
        .expect_err("prod-a has nodes");
    let error = error.to_string();
    assert!(
        error.contains("NodePool.karpenter.sh \"prod-a\" is invalid"),
        "{error}"
    );
    assert!(client.get(&format!("{POOLS}/prod-a")).is_some());

    let annotate = |value: &str| {
        let annotation = format!("poolgate.dev/allow-delete={value}");
        plane
            .kubectl(
                &["annotate", "--overwrite", "nodepool", "prod-a", &annotation],
                "",
            )
            .success();
    };
    annotate("prod-d");
    expect_denied(&delete(&plane, "prod-a", &[]), "prod-a");
    annotate("prod-a");
    expect_deleted(&delete(&plane, "prod-a", &[]), true);

    // The API server deletes the objects of a definition that is deleted, and asks no webhook.
    expect_denied(&delete(&plane, "prod-d", &[]), "prod-d");
    let before = asked(&poolgate);
    plane
        .kubectl(&["delete", "crd", "nodepools.karpenter.sh", "--timeout=60s"], "")
        .success();
    assert_eq!(asked(&poolgate), before);
    plane.install_karpenter_crds(V1);
    assert_eq!(client.list(POOLS), [Value::Null; 0]);
}
