//! Manifests written by real people, all in one run.

use std::path::Path;

use serde_json::Value;

use crate::program::lint_in;

#[test]
fn the_whole_corpus_is_linted_in_every_format() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for format in ["human", "concise", "github", "json"] {
        let outcome = lint_in(root, &["--format", format, "tests/corpus"], "");
        assert_eq!(outcome.status.code(), Some(1), "{}", outcome.stderr);
        assert!(
            outcome.stdout.lines().count() > 100,
            "{format}: {}",
            outcome.stdout
        );
        assert!(!outcome.stdout.contains('\u{1b}'), "no colour into a file");
        if format == "json" {
            let report: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
            let results = report["results"].as_array().expect("results");
            let errors = results
                .iter()
                .filter(|result| result["severity"] == "error")
                .count();
            assert_eq!(report["summary"]["errors"], errors);
            assert_eq!(report["summary"]["unreadable"], 0);
        }
    }
}

#[test]
fn two_runs_print_the_same_bytes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let run = || lint_in(root, &["--format", "json", "tests/corpus"], "").stdout;
    assert_eq!(run(), run());
}
