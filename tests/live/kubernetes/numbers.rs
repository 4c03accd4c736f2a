//! What an API server makes of whole numbers that are written with a decimal point, by who sends them.

use kube::Error;
use serde_json::{Value, json};

use super::shared::published;
use crate::support::client::Client;
use crate::support::nodepool::node_pool;

/// A spec that Karpenter's rules look into, with the same number wherever they look.
fn pool(number: &Value) -> Value {
    let requirement = json!({
        "key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["a", "b", "c"], "minValues": number,
    });
    node_pool(
        "numbers-static",
        &json!({
            "replicas": number,
            "limits": {"nodes": number},
            "template": {"spec": {"requirements": [requirement]}},
        }),
    )
}

#[test]
fn kubectl_sends_a_whole_number_without_its_point_and_raw_json_is_denied() {
    let plane = &published().plane;
    for (verb, number) in [("created", json!(2.0)), ("configured", json!(3.0))] {
        let applied = plane
            .kubectl(&["apply", "-f", "-"], &pool(&number).to_string())
            .success();
        assert!(applied.contains(verb), "{applied}");
    }
    let stored = plane.kubectl_json(&["get", "nodepool", "numbers-static"], "");
    assert_eq!(stored["spec"]["replicas"], json!(3));
    assert_eq!(stored["spec"]["limits"]["nodes"], json!(3));

    let client = Client::of(plane);
    let mut created = pool(&json!(2.0));
    created["metadata"]["name"] = json!("numbers-raw");
    expect_denied_for_its_point(client.try_create(&dry_run(""), &created));
    let mut replaced = pool(&json!(2.0));
    replaced["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"].clone();
    expect_denied_for_its_point(client.try_replace(&dry_run("/numbers-static"), &replaced));
}

fn dry_run(name: &str) -> String {
    format!("/apis/karpenter.sh/v1/nodepools{name}?dryRun=All")
}

#[track_caller]
fn expect_denied_for_its_point(answer: Result<Value, Error>) {
    let message = answer.expect_err("a denial").to_string();
    for part in [
        "2 is of the type float64, expected int64",
        "requirements: Invalid value: \"array\": invalid data, expected int, got float64",
    ] {
        assert!(message.contains(part), "{part} in {message}");
    }
}
