//! Manifests written by real users, all in one run.

use std::collections::HashSet;

use poolgate_core::diagnostic::Diagnostic;
use poolgate_core::facts::{KarpenterVersion, TargetKarpenter};
use poolgate_core::json::Json;
use poolgate_core::manifest::{Limits, parse};
use poolgate_core::policy::Policy;
use poolgate_core::review::{Request, Subject, review};
use serde_json::Value;

use super::lint_in;
use crate::support::program::root;

const FORMATS: [&str; 7] = ["human", "concise", "github", "gitlab", "json", "junit", "sarif"];

/// The rule whose notes lint reports once per run.
const ONCE: &str = "replicas-gate";

#[test]
fn the_whole_corpus_is_linted_in_every_format() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = |format: &str| directory.path().join(format);
    let wanted: Vec<String> = FORMATS
        .iter()
        .map(|format| format!("--output={format}={}", file(format).display()))
        .collect();
    let mut arguments: Vec<&str> = wanted.iter().map(String::as_str).collect();
    arguments.push("tests/corpus");
    let outcome = lint_in(root(), &arguments, "");
    assert_eq!(outcome.status.code(), Some(1), "{}", outcome.stderr);
    let written = |format: &str| std::fs::read_to_string(file(format)).expect("a report");
    for format in FORMATS {
        let report = written(format);
        assert!(report.lines().count() > 100, "{format}: {report}");
        assert!(!report.contains('\u{1b}'), "no colour into a file");
    }
    assert_eq!(written("human"), outcome.stdout);
    let report: Value = serde_json::from_str(&written("json")).expect("JSON");
    let results = report["results"].as_array().expect("results");
    let errors = results
        .iter()
        .filter(|result| result["severity"] == "error")
        .count();
    assert_eq!(report["summary"]["errors"], errors);
    assert_eq!(report["summary"]["unreadable"], 0);
    let sarif: Value = serde_json::from_str(&written("sarif")).expect("JSON");
    assert_eq!(
        sarif["runs"][0]["results"].as_array().map(Vec::len),
        Some(results.len())
    );
    roxmltree::Document::parse(&written("junit")).expect("XML");
}

#[test]
fn two_runs_print_the_same_bytes() {
    let run = || lint_in(root(), &["--output", "json", "tests/corpus"], "").stdout;
    assert_eq!(run(), run());
}

#[test]
fn a_file_has_the_findings_that_the_webhook_has_for_new_objects() {
    let printed = lint_in(root(), &["--output", "json", "tests/corpus"], "").stdout;
    let report: Value = serde_json::from_str(&printed).expect("JSON");
    let mut linted: Vec<[String; 4]> = report["results"]
        .as_array()
        .expect("results")
        .iter()
        // Without lint's own findings, and those that it reports once per run.
        .filter(|result| {
            let rule = result["rule"].as_str().expect("a rule");
            !rule.starts_with("manifest-") && rule != ONCE
        })
        .map(|result| {
            ["file", "severity", "rule", "field"]
                .map(|name| result[name].as_str().unwrap_or_default().to_owned())
        })
        .collect();
    let mut reviewed = Vec::new();
    for entry in std::fs::read_dir(root().join("tests/corpus")).expect("the corpus") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let file = path
            .strip_prefix(root())
            .expect("a file of the corpus")
            .display()
            .to_string();
        let text = std::fs::read_to_string(&path).expect("a manifest");
        for document in parse(&text, &Limits::default()).filter(|document| document.unreadable().is_none()) {
            let object = document.value();
            let text = |field: &str| object.get(field).and_then(Json::as_str).unwrap_or_default();
            let (group, version) = text("apiVersion").split_once('/').unwrap_or_default();
            let Some(subject) = Subject::from_kind(group, version, text("kind")) else {
                continue;
            };
            let request = Request {
                subject,
                object,
                old: None,
                claims: None,
                at: jiff::Timestamp::default(),
            };
            // v1beta1 is checked for the last release that serves it, unless one is named.
            let karpenter = match version {
                "v1beta1" => KarpenterVersion::LAST_OF_V1BETA1.into(),
                _ => TargetKarpenter::default(),
            };
            let report = review(&request, &Policy::default(), &karpenter).report;
            // What another program fills in is not checked.
            let is_open = |finding: &&Diagnostic| {
                let value = finding.path.find(object).and_then(Json::as_str);
                value.is_some_and(|value| value.contains("${"))
            };
            let checked = report.diagnostics().iter().filter(|finding| !is_open(finding));
            let checked = checked.filter(|finding| finding.rule.as_str() != ONCE);
            reviewed.extend(checked.map(|finding| {
                [
                    file.clone(),
                    finding.severity.to_string(),
                    finding.rule.to_string(),
                    finding.path.to_string(),
                ]
            }));
        }
    }
    assert!(reviewed.len() > 100, "{}", reviewed.len());
    linted.sort();
    reviewed.sort();
    assert_eq!(linted, reviewed);
}

#[test]
fn what_people_wrote_without_a_mistake_gets_few_findings() {
    let printed = lint_in(root(), &["--output", "json", "tests/corpus"], "").stdout;
    let report: Value = serde_json::from_str(&printed).expect("JSON");
    let results = report["results"].as_array().expect("results");
    let wrong: HashSet<&Value> = results
        .iter()
        .filter(|result| result["severity"] == "error")
        .map(|result| &result["file"])
        .collect();
    let said: Vec<&Value> = results
        .iter()
        .filter(|result| !wrong.contains(&result["file"]))
        .collect();
    assert!(said.len() <= 12, "{said:#?}");
}
