//! Manifests written by real people, all in one run.

use serde_json::Value;

use super::lint_in;
use crate::support::program::root;

const FORMATS: [&str; 8] = [
    "human", "concise", "github", "gitlab", "json", "junit", "rdjson", "sarif",
];

#[test]
fn the_whole_corpus_is_linted_in_every_format() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = |format: &str| directory.path().join(format);
    let wanted: Vec<String> = FORMATS
        .iter()
        .map(|format| format!("--format={format}={}", file(format).display()))
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
    let run = || lint_in(root(), &["--format", "json", "tests/corpus"], "").stdout;
    assert_eq!(run(), run());
}
