//! `poolgate default`, the real program: manifests in, the same with defaults out.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::files::directory;
use crate::support::process::Outcome;
use crate::support::program;

const POOL: &str = "\
# what the team wrote
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: general # a name
spec:
  disruption:
    # not too eager
    consolidateAfter: 5m # minutes
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
---
# somebody else
kind: ConfigMap
apiVersion: v1
";

const COMPLETED: &str = "\
# what the team wrote
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: general # a name
spec:
  disruption:
    # not too eager
    consolidateAfter: 5m # minutes
    budgets:
    - nodes: \"10%\"
    consolidationPolicy: WhenEmptyOrUnderutilized
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
      expireAfter: 720h
---
# somebody else
kind: ConfigMap
apiVersion: v1
";

fn default_in(directory: &Path, arguments: &[&str], stdin: &str) -> Outcome {
    program::run_in(directory, &[&["default"], arguments].concat(), stdin)
}

fn completed(text: &str, arguments: &[&str]) -> String {
    default_in(Path::new("."), arguments, text).success()
}

#[test]
fn defaults_come_in_and_all_else_stays() {
    assert_eq!(completed(POOL, &["-"]), COMPLETED);
    assert_eq!(
        completed(COMPLETED, &["-"]),
        COMPLETED,
        "there is nothing left to write"
    );
    let crlf = |text: &str| text.replace('\n', "\r\n");
    assert_eq!(completed(&crlf(POOL), &["-"]), crlf(COMPLETED));
}

#[test]
fn a_pool_without_disruption_gets_all_of_it() {
    let text = POOL.replace(
        "  disruption:\n    # not too eager\n    consolidateAfter: 5m # minutes\n",
        "",
    );
    let completed = completed(&text, &["--node-limit-mode", "-"]);
    let expected = "      expireAfter: 720h\n  disruption:\n    budgets:\n    - nodes: \"10%\"\n    \
                    consolidateAfter: 0s\n    consolidationPolicy: WhenEmptyOrUnderutilized\n    nodeLimitMode: Hard\n---\n";
    assert!(completed.contains(expected), "{completed}");
}

#[test]
fn the_release_decides_what_karpenter_writes_itself() {
    let beta =
        "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nspec: {template: {spec: {requirements: []}}}\n";
    let json = |arguments: &[&str]| completed(beta, arguments);
    assert_eq!(
        json(&["--karpenter-version", "0.33", "-"]),
        beta.replace(
            "[]}}}",
            "[]}}, \"disruption\": {\"budgets\":[{\"nodes\":\"10%\"}],\"consolidationPolicy\":\
             \"WhenUnderutilized\",\"expireAfter\":\"720h\"}}"
        )
    );
}

#[test]
fn every_layout_is_completed_in_its_own_style() {
    for text in [
        "{\"apiVersion\":\"karpenter.sh/v1\",\"kind\":\"NodePool\",\"spec\":{\"disruption\":{}}}\n",
        "{\n  \"apiVersion\": \"karpenter.sh/v1\",\n  \"kind\": \"NodePool\",\n  \"spec\": {\n    \
         \"disruption\": {\n      \"consolidateAfter\": \"1m\"\n    }\n  }\n}\n",
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec:\n  disruption:\n  weight: 1\n",
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec:\n  disruption: {budgets: ~, consolidateAfter: 1m}\n",
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec:\n  disruption:\n    budgets:\n    - reasons: [Empty]\n",
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: karpenter.sh/v1\n  kind: NodePool\n  spec:\n    weight: 1",
    ] {
        let once = completed(text, &["-"]);
        assert_ne!(once, text);
        assert_eq!(completed(&once, &["-"]), once, "{once}");
        if text.starts_with('{') {
            let _: Value = serde_json::from_str(&once).expect("still JSON");
        }
    }
}

#[test]
fn a_diff_has_the_exit_codes_of_kubectl_diff() {
    let directory = directory(&[
        ("a.yaml", POOL),
        ("b.yaml", COMPLETED),
        ("c.yaml", "a: [karpenter.sh\n"),
    ]);
    let diff = |names: &[&str]| default_in(directory.path(), &[&["--diff"], names].concat(), "");
    let changed = diff(&["a.yaml", "b.yaml"]);
    assert_eq!(changed.status.code(), Some(1), "{changed:?}");
    assert!(
        changed
            .stdout
            .starts_with("--- a.yaml\n+++ a.yaml with defaults\n@@"),
        "{}",
        changed.stdout
    );
    assert_eq!(
        changed
            .stdout
            .lines()
            .filter(|line| line.starts_with('+'))
            .count(),
        5
    );
    assert_eq!(diff(&["b.yaml"]).status.code(), Some(0));
    for trouble in ["c.yaml", "none.yaml"] {
        let outcome = diff(&[trouble]);
        assert_eq!(outcome.status.code(), Some(2), "{outcome:?}");
        assert!(outcome.stderr.contains(trouble), "{outcome:?}");
    }
    assert_eq!(diff(&["--no-such-flag"]).status.code(), Some(2));
}

#[test]
fn files_are_written_in_place_and_only_where_something_changes() {
    let directory = directory(&[("a.yaml", POOL), ("b.yaml", COMPLETED)]);
    let outcome = default_in(directory.path(), &["--write", "."], "");
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    assert_eq!(outcome.stderr, "a.yaml: defaults written\n");
    let read = |name: &str| fs::read_to_string(directory.path().join(name)).expect("a file");
    assert_eq!(
        (read("a.yaml").as_str(), read("b.yaml").as_str()),
        (COMPLETED, COMPLETED)
    );
    let stdin = default_in(directory.path(), &["--write", "-"], POOL);
    assert_eq!(stdin.status.code(), Some(2), "{stdin:?}");
}

#[test]
fn what_an_alias_brings_is_left_to_its_author() {
    let text = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {annotations: &a {consolidateAfter: 1m}}\n\
                spec: {disruption: *a}\n";
    let outcome = default_in(Path::new("."), &["-"], text);
    assert_eq!(outcome.status.code(), Some(2), "{outcome:?}");
    assert_eq!(outcome.stdout, text);
    assert!(outcome.stderr.contains("alias"), "{outcome:?}");
}

/// What is completed in the text is what the review of the completed object finds complete.
#[test]
fn the_corpus_is_completed_and_then_complete() {
    let mut files = Vec::new();
    let mut folders = vec![program::root().join("tests/corpus")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "yaml") {
                files.push(path);
            }
        }
    }
    assert!(files.len() > 50, "{}", files.len());
    let copy = tempfile::tempdir().expect("a directory");
    for (number, path) in files.iter().enumerate() {
        fs::copy(path, copy.path().join(format!("{number}.yaml"))).expect("a copy");
    }
    let first = default_in(copy.path(), &["--write", "."], "");
    let second = default_in(copy.path(), &["--diff", "."], "");
    assert_eq!(second.stdout, "", "{first:?}");
}
