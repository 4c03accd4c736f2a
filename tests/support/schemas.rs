//! The published schemas of reports: each report is what its schema says, and has no field that the schema lacks.

use std::fs;

use serde_json::Value;

use super::program::root;

/// The schema without room for fields that it does not describe.
fn closed(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut() {
        if object.contains_key("properties") {
            object.entry("additionalProperties").or_insert(false.into());
        }
        object.values_mut().for_each(closed);
    } else if let Some(list) = schema.as_array_mut() {
        list.iter_mut().for_each(closed);
    }
}

/// The published schema of the reports of a kind, such as `docs/lint-report.schema.json` of `LintReport`.
fn published(report: &Value) -> Value {
    let kind = report["kind"].as_str().expect("a kind");
    let words = kind.strip_suffix("Report").expect("a report").to_lowercase();
    let path = root().join(format!("docs/{words}-report.schema.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}

/// The report is valid by the schema of its kind, which describes every field of it.
#[track_caller]
pub(crate) fn assert_described(report: &Value) {
    let mut schema = published(report);
    closed(&mut schema);
    assert_valid_by(&schema, report);
}

/// The report is valid by the schema.
#[track_caller]
pub(crate) fn assert_valid_by(schema: &Value, report: &Value) {
    let schema = jsonschema::validator_for(schema).expect("a schema");
    let errors = schema.iter_errors(report);
    let errors: Vec<String> = errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert_eq!(errors, [""; 0], "{report:#}");
}
