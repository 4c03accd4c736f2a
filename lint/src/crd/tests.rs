//! The definitions that Karpenter ships, in every layout that reaches a cluster.

use poolgate_core::api::NodeLimitMode;
use poolgate_core::policy::DefaultValues;
use serde_json::{Value, json};

use super::*;

fn patched(text: &str) -> anyhow::Result<String> {
    super::patched(text, None)
}

const V1: &str = include_str!("../../../tests/data/crds/karpenter-1.15.0-nodepools.yaml");
const V1_AND_V1BETA1: &str = include_str!("../../../tests/data/crds/karpenter-1.0.8-nodepools.yaml");

const DISRUPTION: &str = "/schema/openAPIV3Schema/properties/spec/properties/disruption/properties";

fn value(text: &str) -> Value {
    written::values(text).next().unwrap()
}

/// The lines that are new; fails if any other has changed.
fn added(before: &str, after: &str) -> String {
    let mut old = before.lines().peekable();
    let new: Vec<&str> = after
        .lines()
        .filter(|line| old.next_if_eq(line).is_none())
        .collect();
    assert_eq!(old.next(), None, "a line was changed or lost");
    new.join("\n")
}

/// The definition with the property in all versions, built from its value instead of its text.
fn extended(definition: &Value) -> Value {
    let mut definition = definition.clone();
    for version in definition["spec"]["versions"].as_array_mut().unwrap() {
        version.pointer_mut(DISRUPTION).unwrap()[PROPERTY] = property();
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
fn the_property_is_the_mode_without_a_default() {
    let property = property();
    assert_eq!(property["enum"], json!(NodeLimitMode::VALUES));
    assert_eq!(property["type"], "string");
    assert_eq!(property.as_object().unwrap().len(), 3);
}

#[test]
fn the_kustomize_components_add_the_same_property_where_upstream_has_the_version() {
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
            {"op": "add", "path": format!("{prefix}{DISRUPTION}/{PROPERTY}"), "value": property()},
        ]);
        assert_eq!(value(patch), expected);
        let name = value(V1_AND_V1BETA1)["spec"]["versions"][index]["name"].clone();
        assert_eq!(name, version);
    }
}

#[test]
fn karpenters_definitions_get_the_property_in_every_version_and_keep_every_line() {
    for text in [V1, V1_AND_V1BETA1] {
        let after = patched(text).unwrap();
        assert_eq!(value(&after), extended(&value(text)));
        let versions = value(text)["spec"]["versions"].as_array().unwrap().len();
        assert_eq!(added(text, &after).matches("nodeLimitMode:").count(), versions);
        assert_eq!(patched(&after).unwrap(), after);
    }
}

#[test]
fn the_property_follows_its_neighbours_in_their_layout() {
    let after = patched(V1).unwrap();
    let (_, behind) = after.split_once("                        - Balanced\n").unwrap();
    let indented = PROPERTY_YAML
        .lines()
        .map(|line| format!("                    {line}\n"));
    let expected = [
        "                      type: string
",
        &indented.collect::<String>(),
        "                  type: object
",
    ];
    assert!(behind.starts_with(&expected.concat()), "{behind:.900}");
}

#[test]
fn json_is_extended_in_its_own_layout() {
    let pretty = serde_json::to_string_pretty(&value(V1_AND_V1BETA1)).unwrap();
    let after = patched(&pretty).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&after).unwrap(),
        extended(&value(V1_AND_V1BETA1))
    );
    assert_eq!(
        after,
        serde_json::to_string_pretty(&extended(&value(V1_AND_V1BETA1))).unwrap()
    );
    let compact = small().to_string();
    let after = patched(&compact).unwrap();
    assert_eq!(after, extended(&small()).to_string());
    assert_eq!(patched(&after).unwrap(), after);
    let empty = compact.replace(r#"{"budgets":{"type":"array"}}"#, "{}");
    assert!(
        patched(&empty)
            .unwrap()
            .contains(r#"{"properties":{"nodeLimitMode":{"#)
    );
}

#[test]
fn yaml_of_any_layout_is_extended_or_rejected() {
    let head = "kind: CustomResourceDefinition\nspec:\n  group: karpenter.sh\n  names: {kind: NodePool}\n  versions:\n  - name: v1\n    served: true\n    schema:\n      openAPIV3Schema:\n        properties:\n          spec:\n            properties:\n              disruption:\n                properties:";
    for tail in [
        "\n                  budgets: {type: array} # last",
        "\n                  budgets: {type: array} # not last\n                  # above\n                  zebra:\n                    type: string\n",
        "\n                  # only a comment above\n                  budgets:\n                    description: |+\n                      text\n\n\nstatus: {}\n",
        "\n                  budgets:\n                  # dangling\n                type: object\n---\nkind: Other\n",
        " {budgets: {type: array}, } # flow",
        " {budgets: {type: array},\n    zebra: {} # not the end\n    }\n",
        " &anchor\n                  budgets: !!map\n                    type: array\n",
        " {}\n",
    ] {
        for newline in ["\n", "\r\n"] {
            let text = format!("# {{head}}\n{head}{tail}").replace('\n', newline);
            let wanted = extended(&value(&text));
            match patched(&text) {
                Ok(after) => {
                    assert_eq!(value(&after), wanted, "{after}");
                    assert_eq!(
                        after.matches('\n').count(),
                        after.matches(newline).count(),
                        "{after:?}"
                    );
                    assert_eq!(patched(&after).unwrap(), after);
                }
                Err(error) => assert!(tail.contains("|+"), "{error}: {text}"),
            }
        }
    }
}

#[test]
fn other_documents_are_unchanged_and_lists_are_searched() {
    let list = json!({"kind": "List", "items": [{"kind": "ConfigMap"}, small()]}).to_string();
    let others = "# first\na:   b   # spaced\n";
    let text = format!("{others}{V1}---\n{list}\n--- # last\nyes: [1,2,\n  3]\n");
    let after = patched(&text).unwrap();
    assert!(after.starts_with(others));
    assert!(after.ends_with("\n--- # last\nyes: [1,2,\n  3]\n"));
    assert_eq!(after.matches("nodeLimitMode").count(), 2);
    let values: Vec<Value> = written::values(&after).collect();
    assert_eq!(values[1], extended(&value(V1)));
    assert_eq!(values[2]["items"][1], extended(&small()));
}

#[test]
fn versions_that_are_not_served_stay_as_they_are() {
    let mut definition = small();
    definition["spec"]["versions"][0]["served"] = json!(false);
    let text = definition.to_string();
    assert_eq!(patched(&text).unwrap(), text);
}

fn rejection(text: &str) -> String {
    patched(text).unwrap_err().to_string()
}

#[test]
fn errors_say_what_cannot_be_done() {
    assert!(rejection("kind: NodePool\n").starts_with("the input contains no CustomResourceDefinition"));
    assert!(rejection("").starts_with("the input contains no CustomResourceDefinition"));
    let other = V1.replace("group: karpenter.sh", "group: example.com");
    assert!(rejection(&other).starts_with("the input contains no CustomResourceDefinition"));
    assert_eq!(
        rejection("a: 1\n---\nb: [1\nc: 2\n"),
        "the input cannot be read, line 4, column 2: a bracket is not closed before this place"
    );
    assert_eq!(
        rejection(&V1.replace("                disruption:\n", "                disrupted:\n")),
        "version v1 of the definition has no schema of spec.disruption that could be extended"
    );
    let aliased = "x: &x {budgets: {}}\n".to_owned()
        + "kind: CustomResourceDefinition\nspec:\n  group: karpenter.sh\n  names: {kind: NodePool}\n  versions:\n  - {name: v1, served: true, schema: {openAPIV3Schema: {properties: {spec: {properties: {disruption: {properties: *x}}}}}}}\n";
    let column = aliased.lines().last().unwrap().find("*x").unwrap() + 1;
    let expected = format!("version v1 of the definition is laid out, line 7, column {column}, in a way");
    assert!(
        rejection(&aliased).starts_with(&expected),
        "{}",
        rejection(&aliased)
    );
}

#[test]
fn the_stream_is_read_with_a_bound() {
    let output = patch(V1.as_bytes(), None).unwrap();
    assert_eq!(output, patched(V1).unwrap());
    let error = patch(std::io::repeat(b' '), None).unwrap_err();
    assert_eq!(error.to_string(), "the input is larger than 16777216 bytes");
}

/// Defaults that no definition ships.
fn own_defaults() -> DefaultValues {
    DefaultValues {
        budgets: json!([{"nodes": "20%"}, {"nodes": "0", "schedule": "0 8 * * mon-fri", "duration": "10h"}]),
        consolidation_policy: "WhenEmpty".into(),
        consolidate_after: "5m".into(),
        ..DefaultValues::default()
    }
}

/// The definition with the property and these defaults, built from its value instead of its text.
fn with_defaults(definition: &Value, defaults: &DefaultValues) -> Value {
    let mut definition = extended(definition);
    for version in definition["spec"]["versions"].as_array_mut().unwrap() {
        let is_v1 = version["name"] == "v1";
        let disruption = version
            .pointer_mut("/schema/openAPIV3Schema/properties/spec/properties/disruption")
            .unwrap();
        disruption["properties"]["budgets"]["default"] = defaults.budgets.clone();
        if is_v1 {
            disruption["properties"]["consolidationPolicy"]["default"] = json!("WhenEmpty");
            disruption["default"]["consolidateAfter"] = json!("5m");
            if let Some(own) = disruption["properties"]["consolidateAfter"].get_mut("default") {
                *own = json!("5m");
            }
        }
    }
    definition
}

#[test]
fn a_policys_defaults_take_the_place_of_the_definitions_and_nothing_else_changes() {
    let defaults = own_defaults();
    for shipped in [V1, V1_AND_V1BETA1] {
        let wanted = with_defaults(&value(shipped), &defaults);
        let pretty = serde_json::to_string_pretty(&value(shipped)).unwrap();
        let windows = shipped.replace('\n', "\r\n");
        for text in [shipped, &pretty, &value(shipped).to_string(), &windows] {
            let after = super::patched(text, Some(&defaults)).unwrap();
            assert_eq!(value(&after), wanted);
            assert_eq!(super::patched(&after, Some(&defaults)).unwrap(), after);
        }
        let kept = super::patched(shipped, Some(&DefaultValues::default())).unwrap();
        assert_eq!(
            kept,
            patched(shipped).unwrap(),
            "the built-in defaults are Karpenter's own"
        );
    }
    let after = super::patched(V1, Some(&defaults)).unwrap();
    let budgets = "                      default:
                        - nodes: \"20%\"
                        - duration: 10h
                          nodes: \"0\"
                          schedule: \"0 8 * * mon-fri\"
                      description:";
    assert!(after.contains(budgets), "{after:.4000}");
    assert!(after.contains("default: WhenEmpty\n"));
    assert!(after.contains("consolidateAfter: 5m\n"));
}

#[test]
fn a_default_that_a_version_does_not_know_is_rejected() {
    let defaults = DefaultValues {
        consolidation_policy: "Balanced".into(),
        ..DefaultValues::default()
    };
    let error = super::patched(V1_AND_V1BETA1, Some(&defaults)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "version v1 of the definition does not accept the policy's consolidationPolicy \"Balanced\""
    );
}
