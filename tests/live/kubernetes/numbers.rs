//! What an API server makes of whole numbers that are written with a decimal point, by who sends them.

use serde_json::{Value, json};

use crate::support::api::{Answer, Api};
use crate::support::control_plane::ControlPlane;
use crate::support::crds::V1;

const COLLECTION: &str = "/apis/karpenter.sh/v1/nodepools";

/// A spec that Karpenter's rules look into, with the same number wherever they look.
fn pool(number: &Value) -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "static"},
        "spec": {
            "replicas": number,
            "limits": {"nodes": number},
            "template": {"spec": {
                "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
                "requirements": [{
                    "key": "node.kubernetes.io/instance-type", "operator": "In",
                    "values": ["a", "b", "c"], "minValues": number,
                }],
            }},
        },
    })
}

#[test]
fn kubectl_sends_a_whole_number_without_its_point_and_raw_json_is_refused() {
    let plane = ControlPlane::start();
    plane.install_karpenter_crds(V1);

    for (verb, number) in [("created", json!(2.0)), ("configured", json!(3.0))] {
        let applied = plane
            .kubectl(&["apply", "-f", "-"], &pool(&number).to_string())
            .success();
        assert!(applied.contains(verb), "{applied}");
    }
    let stored = plane.kubectl_json(&["get", "nodepool", "static"], "");
    assert_eq!(stored["spec"]["replicas"], json!(3));
    assert_eq!(stored["spec"]["limits"]["nodes"], json!(3));

    let mut api = Api::of(&plane);
    let mut created = pool(&json!(2.0));
    created["metadata"]["name"] = json!("raw");
    expect_refused_for_its_point(&api.try_create(COLLECTION, &created));
    let mut replaced = pool(&json!(2.0));
    replaced["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"].clone();
    expect_refused_for_its_point(&api.try_replace(COLLECTION, &replaced));
}

#[track_caller]
fn expect_refused_for_its_point(answer: &Answer) {
    let Answer::Refused(status) = answer else {
        panic!("taken: {answer:?}");
    };
    let message = status["message"].as_str().unwrap_or_default();
    for part in [
        "2 is of the type float64, expected int64",
        "requirements: Invalid value: \"array\": invalid data, expected int, got float64",
    ] {
        assert!(message.contains(part), "{part} in {message}");
    }
}
