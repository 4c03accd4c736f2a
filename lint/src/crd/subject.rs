//! Which documents are definitions of NodePools, and where in them the property belongs.

use anyhow::bail;
use poolgate_core::diagnostic::FieldPath;
use serde_json::Value;

use super::PROPERTY;

/// The paths of the definitions of NodePools in a document: itself, or elements of a List.
pub fn definitions(document: &Value) -> Vec<FieldPath> {
    if is_definition(document) {
        return vec![FieldPath::root()];
    }
    let is_list = text(document, &["kind"]).is_some_and(|kind| kind.ends_with("List"));
    let items = FieldPath::of(&["items"]);
    let elements = items
        .find_value(document)
        .and_then(Value::as_array)
        .filter(|_| is_list);
    let elements = elements.into_iter().flatten().enumerate();
    elements
        .filter(|(_, element)| is_definition(element))
        .map(|(index, _)| items.clone().index(index))
        .collect()
}

fn is_definition(value: &Value) -> bool {
    text(value, &["kind"]) == Some("CustomResourceDefinition")
        && text(value, &["spec", "group"]) == Some("karpenter.sh")
        && text(value, &["spec", "names", "kind"]) == Some("NodePool")
}

/// The served versions of the definition at `path` that lack the property: the name of each, and where its properties
/// of `spec.disruption` are.
pub fn unextended(document: &Value, path: &FieldPath) -> anyhow::Result<Vec<(String, FieldPath)>> {
    let mut unextended = Vec::new();
    for (name, disruption) in served(document, path) {
        let properties = disruption.key("properties");
        match properties.find_value(document).and_then(Value::as_object) {
            None => bail!(
                "version {name} of the definition has no schema of spec.disruption that could be extended"
            ),
            Some(present) if present.contains_key(PROPERTY) => {}
            Some(_) => unextended.push((name, properties)),
        }
    }
    Ok(unextended)
}

/// The served versions of the definition at `path`: the name of each, and where its schema of `spec.disruption`
/// should be.
pub fn served(document: &Value, path: &FieldPath) -> Vec<(String, FieldPath)> {
    let versions = path.clone().key("spec").key("versions");
    let listed = versions.find_value(document).and_then(Value::as_array);
    let listed = listed.into_iter().flatten().enumerate();
    listed
        .filter(|(_, version)| version.get("served") == Some(&Value::Bool(true)))
        .map(|(index, version)| {
            let name = text(version, &["name"]).unwrap_or_default().to_owned();
            (name, disruption(versions.clone().index(index)))
        })
        .collect()
}

/// The schema of `spec.disruption` in a version.
fn disruption(version: FieldPath) -> FieldPath {
    [
        "schema",
        "openAPIV3Schema",
        "properties",
        "spec",
        "properties",
        "disruption",
    ]
    .into_iter()
    .fold(version, FieldPath::key)
}

fn text<'v>(value: &'v Value, keys: &[&'static str]) -> Option<&'v str> {
    FieldPath::of(keys).find_value(value).and_then(Value::as_str)
}
