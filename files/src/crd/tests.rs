//! The definitions that Karpenter ships, in the notations that reach a cluster.

use poolgate_core::policy::DefaultValues;
use serde_json::{Value, json};

use super::*;
use crate::edit;
use definition::property;

const V1: &str = include_str!("../../../tests/data/crds/karpenter-1.15.0-nodepools.yaml");
const V1_AND_V1BETA1: &str = include_str!("../../../tests/data/crds/karpenter-1.0.8-nodepools.yaml");

const DISRUPTION: &str = "/schema/openAPIV3Schema/properties/spec/properties/disruption";

fn patched(text: &str) -> anyhow::Result<String> {
    super::patched(text, None)
}

fn value(text: &str) -> Value {
    edit::values(text).next().unwrap()
}

/// The definition with the property in all versions.
fn extended(definition: &Value) -> Value {
    let mut definition = definition.clone();
    for version in definition["spec"]["versions"].as_array_mut().unwrap() {
        version.pointer_mut(DISRUPTION).unwrap()["properties"]["nodeLimitMode"] = property();
    }
    definition
}

/// A definition with just enough to be extended.
fn small() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "nodepools.karpenter.sh"},
        "spec": {
            "group": "karpenter.sh",
            "names": {"kind": "NodePool"},
            "versions": [{"name": "v1", "served": true, "schema": {"openAPIV3Schema": {"properties": {"spec":
                {"properties": {"disruption": {"properties": {"budgets": {"type": "array"}}}}}}}}}],
        },
    })
}

#[test]
fn property_has_no_default() {
    assert_eq!(property().as_object().unwrap().len(), 3);
}

#[test]
fn kustomize_components_add_the_same_property_to_the_version_that_they_name() {
    for (patch, index, version) in [
        (
            include_str!("../../../manifests/crd/node-limit-mode.yaml"),
            0,
            "v1",
        ),
        (
            include_str!("../../../manifests/crd/v1beta1/node-limit-mode.yaml"),
            1,
            "v1beta1",
        ),
    ] {
        let prefix = format!("/spec/versions/{index}");
        let expected = json!([
            {"op": "test", "path": format!("{prefix}/name"), "value": version},
            {"op": "add", "path": format!("{prefix}{DISRUPTION}/properties/nodeLimitMode"), "value": property()},
        ]);
        assert_eq!(value(patch), expected);
        let name = value(V1_AND_V1BETA1)["spec"]["versions"][index]["name"].clone();
        assert_eq!(name, version);
    }
}

#[test]
fn definition_gets_the_property_in_every_served_version_and_keeps_its_notation() {
    for text in [V1, V1_AND_V1BETA1] {
        let after = patched(text).unwrap();
        assert_eq!(value(&after), extended(&value(text)));
        assert_eq!(patched(&after).unwrap(), after);
        let json = serde_json::to_string_pretty(&value(text)).unwrap();
        let after: Value = serde_json::from_str(&patched(&json).unwrap()).unwrap();
        assert_eq!(after, extended(&value(text)));
    }
    let mut unserved = small();
    unserved["spec"]["versions"][0]["served"] = json!(false);
    assert_eq!(value(&patched(&unserved.to_string()).unwrap()), unserved);
}

#[test]
fn other_documents_keep_their_values_and_lists_are_searched() {
    let list = json!({"kind": "List", "items": [{"kind": "ConfigMap"}, small()]}).to_string();
    let after = patched(&format!("a:   b   # spaced\n---\n{V1}---\n{list}\n---\n")).unwrap();
    let values: Vec<Value> = edit::values(&after).collect();
    assert_eq!(values[0], json!({"a": "b"}));
    assert_eq!(values[1], extended(&value(V1)));
    assert_eq!(
        values[2]["items"],
        json!([{"kind": "ConfigMap"}, extended(&small())])
    );
    assert_eq!(values.len(), 3);
}

#[test]
fn error_says_what_the_input_lacks() {
    let rejection = |text: &str| patched(text).unwrap_err().to_string();
    let other = V1.replace("group: karpenter.sh", "group: example.com");
    for text in ["kind: NodePool\n", "", &other] {
        assert!(rejection(text).starts_with("the input contains no NodePool CRD"));
    }
    assert!(
        rejection("a: 1\n---\nb: [1\nc: 2\n").starts_with("the input cannot be parsed, line 4, column 2: ")
    );
    assert_eq!(
        rejection(&V1.replace("                disruption:\n", "                disrupted:\n")),
        "version v1 of the CRD has no schema of spec.disruption"
    );
}

#[test]
fn defaults_of_a_policy_take_the_place_of_the_definitions() {
    let defaults = DefaultValues {
        budgets: json!([{"nodes": "20%"}, {"nodes": "0", "schedule": "0 8 * * mon-fri", "duration": "10h"}]),
        consolidation_policy: "WhenEmpty".into(),
        consolidate_after: "5m".into(),
        ..DefaultValues::default()
    };
    for shipped in [V1, V1_AND_V1BETA1] {
        let mut wanted = extended(&value(shipped));
        for version in wanted["spec"]["versions"].as_array_mut().unwrap() {
            let is_v1 = version["name"] == "v1";
            let disruption = version.pointer_mut(DISRUPTION).unwrap();
            disruption["properties"]["budgets"]["default"] = defaults.budgets.clone();
            if is_v1 {
                disruption["properties"]["consolidationPolicy"]["default"] = json!("WhenEmpty");
                disruption["default"]["consolidateAfter"] = json!("5m");
                if let Some(own) = disruption["properties"]["consolidateAfter"].get_mut("default") {
                    *own = json!("5m");
                }
            }
        }
        assert_eq!(value(&super::patched(shipped, Some(&defaults)).unwrap()), wanted);
        let kept = super::patched(shipped, Some(&DefaultValues::default())).unwrap();
        assert_eq!(
            kept,
            patched(shipped).unwrap(),
            "the built-in defaults are Karpenter's own"
        );
    }
}

#[test]
fn default_that_a_version_does_not_accept_is_rejected() {
    let defaults = DefaultValues {
        consolidation_policy: "Balanced".into(),
        ..DefaultValues::default()
    };
    let error = super::patched(V1_AND_V1BETA1, Some(&defaults)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "version v1 of the CRD rejects the policy's consolidationPolicy \"Balanced\""
    );
}
