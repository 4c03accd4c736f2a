//! Reports are what the published schemas say, and have no field that a schema of ours does not describe.

use std::collections::BTreeSet;
use std::fs;

use poolgate_core::rules::CATALOGUE;
use serde_json::Value;

use crate::support::files::directory;
use crate::support::program::{self, root, run_in};

pub const SARIF: &str = "tests/data/formats/sarif-2.1.0.schema.json";
pub const OURS: &str = "docs/lint-report.schema.json";

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

/// The report is valid by a schema of ours, which describes every field of it.
#[track_caller]
pub fn assert_described(schema: &str, report: &Value) {
    let text = fs::read_to_string(root().join(schema)).expect("a schema");
    let mut schema = serde_json::from_str(&text).expect("JSON");
    closed(&mut schema);
    assert_valid_by(&schema, report);
}

#[track_caller]
fn assert_valid_by(schema: &Value, report: &Value) {
    let schema = jsonschema::validator_for(schema).expect("a schema");
    let errors = schema.iter_errors(report);
    let errors: Vec<String> = errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert_eq!(errors, [""; 0]);
}

/// The report is valid by a published schema.
#[track_caller]
pub fn assert_valid(schema: &str, report: &Value) {
    let schema = fs::read_to_string(root().join(schema)).expect("a schema");
    // SARIF's pattern of a language has a bracket too many, which is not a valid pattern.
    let schema = schema.replace("{2}]?$", "{2}$");
    assert_valid_by(&serde_json::from_str(&schema).expect("JSON"), report);
}

/// The examples of rules that are whole documents: those about other objects than NodePools.
#[test]
fn schema_of_the_report_describes_findings_of_every_kind_of_object() {
    let examples = CATALOGUE.iter().flat_map(|rule| rule.page().kinds);
    let files: Vec<(String, &str)> = examples
        .map(|kind| kind.bad)
        .filter(|bad| bad.contains("\nkind: "))
        .enumerate()
        .map(|(number, bad)| (format!("{number}.yaml"), bad))
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let directory = directory(&files);
    let outcome = run_in(directory.path(), &["lint", "--output=json", "."], "");
    let report: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    let results = report["results"].as_array().expect("a list").iter();
    let kinds: BTreeSet<&str> = results
        .filter_map(|found| found["object"]["kind"].as_str())
        .collect();
    assert_eq!(kinds, ["CapacityBuffer", "NodeOverlay"].into());
    assert_described(OURS, &report);
}

#[test]
fn schema_of_upgrades_json_describes_changes_and_rejections() {
    let arguments = [
        "upgrade",
        "--from=1.8",
        "--to=1.15",
        "--output=json",
        "tests/cases/upgrade",
    ];
    let said: Value = serde_json::from_str(&program::run(&arguments, "").stdout).expect("JSON");
    let pools = said["nodePools"].as_array().expect("pools");
    for field in ["changes", "rejections"] {
        assert!(
            pools.iter().any(|pool| pool[field] != serde_json::json!([])),
            "{said}"
        );
    }
    assert_described("docs/upgrade-report.schema.json", &said);
}

#[test]
fn schema_of_the_json_describes_the_budgets_of_the_corpus() {
    let arguments = [
        "budgets",
        "--at=2026-01-05",
        "--output=json",
        "tests/corpus",
        "docs/examples/budgets",
    ];
    let said: Value = serde_json::from_str(&program::run(&arguments, "").stdout).expect("JSON");
    assert!(said["pools"].as_array().expect("pools").len() > 50, "{said}");
    assert_described("docs/budget-report.schema.json", &said);
}
