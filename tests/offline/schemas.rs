//! Reports are what the published schemas say, and have no field that a schema of ours does not describe.

use std::collections::BTreeSet;
use std::fs;

use poolgate_core::rules::CATALOGUE;
use serde_json::Value;

use crate::support::files::directory;
use crate::support::program::{self, root, run_in};
use crate::support::schemas::{assert_described, assert_valid_by};

const SARIF: &str = "tests/data/formats/sarif-2.1.0.schema.json";

/// The report is valid by the standard.
#[track_caller]
pub fn assert_sarif(report: &Value) {
    let schema = fs::read_to_string(root().join(SARIF)).expect("a schema");
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
    assert_described(&report);
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
    assert_described(&said);
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
    assert_described(&said);
}

#[test]
fn schema_of_whys_json_describes_each_verdict_on_a_pod() {
    let directory = root().join("tests/cases/why/pods");
    let arguments = ["why", "pod", "-f", "deploy.yaml", "--output=json", "pools.yaml"];
    let said: Value = serde_json::from_str(&run_in(&directory, &arguments, "").stdout).expect("JSON");
    let pods = said["pods"].as_array().expect("pods").iter();
    let pools = pods.flat_map(|pod| pod["pools"].as_array().expect("pools"));
    let verdicts: BTreeSet<&str> = pools.filter_map(|pool| pool["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["open", "refuses"].into());
    assert_described(&said);
}
