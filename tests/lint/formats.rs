//! What each format looks like.

use serde_json::Value;

use crate::program::{SOUND, directory, lint_in};

/// Two pools with findings of two severities: a value, a missing field, an unknown one, two fields that do not go
/// together, and a document that cannot be read.
fn text() -> String {
    let first = SOUND
        .replace("nodes: 10%", "nodes: 10%\n      schedule: 0 9 * * sat-sun")
        .replace("\"100\"", "100")
        .replace("  limits:", "  limit: {}\n  limits:");
    format!("{first}---\n{SOUND}---\na: 'karpenter.sh\n")
}

fn printed(format: &str, extra: &[&str]) -> String {
    let directory = directory(&[
        ("pools/a.yaml", &text()),
        ("pools/b.yaml", &SOUND.replace("1m", "1x")),
    ]);
    let arguments = [&["--format", format][..], extra, &["pools"]].concat();
    let outcome = lint_in(directory.path(), &arguments, "");
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    outcome.stdout
}

#[test]
fn human() {
    insta::assert_snapshot!(printed("human", &[]));
}

#[test]
fn human_with_colour() {
    let coloured = printed("human", &["--color", "always"]);
    assert!(coloured.contains("\u{1b}["), "{coloured}");
    let mut plain = String::new();
    for (position, part) in coloured.split("\u{1b}[").enumerate() {
        let text = if position == 0 {
            part
        } else {
            part.split_once('m').expect("a colour").1
        };
        plain.push_str(text);
    }
    assert_eq!(plain, printed("human", &[]));
}

#[test]
fn concise() {
    insta::assert_snapshot!(printed("concise", &[]));
}

#[test]
fn github() {
    insta::assert_snapshot!(printed("github", &[]));
}

#[test]
fn json() {
    let report: Value = serde_json::from_str(&printed("json", &[])).expect("JSON");
    insta::assert_snapshot!(serde_json::to_string_pretty(&report).expect("JSON"));
}

#[test]
fn json_is_whole_where_nothing_is_found() {
    let directory = directory(&[("pool.yaml", SOUND)]);
    let outcome = lint_in(directory.path(), &["--format", "json", "pool.yaml"], "");
    let report: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    assert_eq!(report["results"], serde_json::json!([]));
    assert_eq!(report["summary"]["objects"], 1);
    assert_eq!(outcome.stderr, "", "nothing stands behind JSON");
}
