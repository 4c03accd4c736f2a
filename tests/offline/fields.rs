//! poolgate knows the fields of NodePools and NodeClaims in Karpenter's definitions, and no others except its own.

use std::path::Path;

use poolgate_core::karpenter::ApiVersion;
use poolgate_core::karpenter::shape::{Legal, Shape, nodeclaim, nodepool};
use poolgate_core::manifest::{Limits, parse};
use serde_json::{Value, json};

/// The one field that is poolgate's own.
const OWN: &str = ".spec.disruption.nodeLimitMode";

/// The schema of one version in one of the definitions.
fn schema(file: &str, version: ApiVersion) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/crds")
        .join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let documents: Vec<Value> = parse(&text, &Limits::default())
        .map(|document| {
            assert_eq!(document.problems(), [], "{file}");
            document.into_value()
        })
        .filter(Value::is_object)
        .collect();
    let versions = documents[0]["spec"]["versions"]
        .as_array()
        .expect("a definition has versions");
    let found = versions.iter().find(|known| known["name"] == version.as_str());
    found.expect("the definition has the version")["schema"]["openAPIV3Schema"].clone()
}

/// Records every difference between a table and a schema.
fn compare(shape: &Shape, schema: &Value, path: &str, differences: &mut Vec<String>) {
    let kind = schema["type"].as_str();
    let is_same = match shape {
        Shape::Any | Shape::Open(_) => return,
        Shape::Demanding(demand, shape) => {
            compare(shape, schema, path, differences);
            return compare_demand(&demand.legal, schema, path, differences);
        }
        Shape::Text => kind == Some("string") && schema["format"].is_null(),
        Shape::FormattedText => kind == Some("string") && schema["format"].is_string(),
        Shape::Integer => kind == Some("integer"),
        Shape::Boolean => kind == Some("boolean"),
        Shape::IntegerOrText => schema["x-kubernetes-int-or-string"] == true,
        Shape::List(element) => {
            compare(element, &schema["items"], &format!("{path}[]"), differences);
            kind == Some("array")
        }
        Shape::Map(entry) => {
            compare(
                entry,
                &schema["additionalProperties"],
                &format!("{path}{{}}"),
                differences,
            );
            kind == Some("object")
        }
        Shape::Object(fields) => {
            let properties = schema["properties"].as_object();
            for (name, shape) in *fields {
                let path = format!("{path}.{name}");
                match properties.and_then(|properties| properties.get(*name)) {
                    Some(property) => {
                        let demands_it = matches!(shape, Shape::Demanding(demand, _) if matches!(demand.legal, Legal::Present));
                        let required = schema["required"].as_array();
                        if demands_it && !required.is_some_and(|names| names.contains(&json!(name))) {
                            differences.push(format!("{path} is not required in the definition"));
                        }
                        compare(shape, property, &path, differences);
                    }
                    None if path == OWN => {}
                    None => differences.push(format!("{path} is not in the definition")),
                }
            }
            for name in properties.into_iter().flatten().map(|(name, _)| name) {
                if !fields.iter().any(|(known, _)| known == name) {
                    differences.push(format!("{path}.{name} is not in the table"));
                }
            }
            kind == Some("object")
        }
    };
    if !is_same {
        differences.push(format!(
            "{path} is {shape} in the table and not in the definition"
        ));
    }
}

/// Records a difference if a schema does not require what a table says it does.
fn compare_demand(legal: &Legal, schema: &Value, path: &str, differences: &mut Vec<String>) {
    let is_same = match legal {
        // Its parent requires it.
        Legal::Present => true,
        Legal::Within(range) => {
            let int32 = (schema["format"] == "int32").then_some(i64::from(i32::MAX));
            schema["minimum"] == *range.start() && schema["maximum"].as_i64().or(int32) == Some(*range.end())
        }
        Legal::AtMost(most) => schema["maxItems"] == *most || schema["maxProperties"] == *most,
        Legal::OneOf(words) => schema["enum"] == json!(words),
    };
    if !is_same {
        differences.push(format!(
            "{path} is demanded to be {legal:?}, but not in the definition"
        ));
    }
}

#[test]
fn the_tables_hold_what_karpenters_definitions_hold() {
    for (file, version, shape) in [
        (
            "karpenter-1.15.0-nodepools.yaml",
            ApiVersion::V1,
            nodepool(ApiVersion::V1),
        ),
        (
            "karpenter-1.0.8-nodepools.yaml",
            ApiVersion::V1Beta1,
            nodepool(ApiVersion::V1Beta1),
        ),
        (
            "karpenter-1.15.0-nodeclaims.yaml",
            ApiVersion::V1,
            nodeclaim(ApiVersion::V1),
        ),
        (
            "karpenter-1.0.8-nodeclaims.yaml",
            ApiVersion::V1Beta1,
            nodeclaim(ApiVersion::V1Beta1),
        ),
    ] {
        let mut differences = Vec::new();
        compare(shape, &schema(file, version), "", &mut differences);
        assert_eq!(differences, [""; 0], "{file}, {}", version.as_str());
    }
}

#[test]
fn a_difference_would_be_noticed() {
    let mut differences = Vec::new();
    let schema = schema("karpenter-1.0.8-nodepools.yaml", ApiVersion::V1Beta1);
    compare(nodepool(ApiVersion::V1), &schema, "", &mut differences);
    assert!(differences.contains(&".spec.disruption.expireAfter is not in the table".to_owned()));
    assert!(differences.contains(&".spec.replicas is not in the definition".to_owned()));
}
