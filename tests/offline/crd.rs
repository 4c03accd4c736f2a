//! `--crd FILE`: the commands that complete or check a NodePool by a patched definition, and say so.

use std::fs;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::files::directory;
use crate::support::nodepool::SOUND;
use crate::support::process::Outcome;
use crate::support::program::{root, run_in};

const NO_BUDGETS: &str = "    budgets:\n    - nodes: 10%\n";
const NO_DELAY: &str = "    consolidateAfter: 1m\n";

/// The line that names the definition.
const SAID: &str = "NodePools are checked by the definition in crd.yaml (Karpenter 1.15)";

/// What is judged by the definition of 1.15.0, and by a patched one with other defaults and one more word.
struct Scene(TempDir);

impl Scene {
    fn new() -> Self {
        let published = root().join("tests/data/crds/karpenter-1.15.0-nodepools.yaml");
        let mut patched = fs::read_to_string(published).expect("a definition");
        for (from, to) in [
            ("- nodes: 10%\n", "- nodes: \"0\"\n"),
            ("default: 0s\n", "default: 7m\n"),
            ("- Balanced\n", "- Balanced\n                        - Patched\n"),
        ] {
            assert_eq!(patched.matches(from).count(), 1, "{from}");
            patched = patched.replace(from, to);
        }
        // Files of a cluster have several definitions.
        let other = "kind: CustomResourceDefinition\nmetadata: {name: nodeclaims.karpenter.sh}\n";
        let crd = format!("apiVersion: v1\nkind: List\nitems: []\n---\n{other}---\n{patched}");
        let without = SOUND.replace(NO_BUDGETS, "").replace(NO_DELAY, "");
        let all = SOUND
            .replace("10%", "\"0\"")
            .replace("consolidateAfter: 1m", "consolidateAfter: 7m");
        let policy = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\n";
        let test = "apiVersion: poolgate.dev/v1alpha1\nkind: PolicyTest\npolicy: policy.yaml\nkarpenterVersion: 1.14.1\n\
                    cases: [{name: all, file: pool.yaml, expect: [{rule: budget-blocks-drift, severity: note}]}]\n";
        let files = [
            ("crd.yaml", &*crd),
            ("pool.yaml", &*without),
            ("all.yaml", &*all),
            ("policy.yaml", policy),
            ("cases.yaml", test),
        ];
        Self(directory(&files))
    }

    /// What a command says without and with the patched definition.
    fn both(&self, arguments: &[&str], stdin: &str) -> [Outcome; 2] {
        let with: Vec<&str> = arguments.iter().copied().chain(["--crd", "crd.yaml"]).collect();
        let both = [arguments, &with].map(|arguments| run_in(self.0.path(), arguments, stdin));
        let [without, with] = &both;
        assert!(!without.stderr.contains("crd.yaml"), "{without:?}");
        assert!(with.stderr.contains(SAID), "{with:?}");
        both
    }
}

#[test]
fn lint_judges_the_defaults_of_the_definition() {
    let [without, with] = Scene::new().both(&["lint", "--isolated", "pool.yaml"], "");
    assert!(!without.stdout.contains("budget-blocks-drift"), "{without:?}");
    assert!(with.stdout.contains("budget-blocks-drift"), "{with:?}");
}

#[test]
fn diff_compares_what_the_definition_makes_of_both_sides() {
    let [without, with] = Scene::new().both(&["diff", "--isolated", "pool.yaml", "all.yaml"], "");
    assert!(
        without.stdout.contains("spec.disruption.consolidateAfter"),
        "{without:?}"
    );
    assert!(!with.stdout.contains("spec.disruption"), "{with:?}");
}

#[test]
fn default_writes_the_defaults_of_the_definition() {
    let [without, with] = Scene::new().both(&["default", "--isolated", "pool.yaml"], "");
    let has = |outcome: &Outcome, text: &str| outcome.stdout.contains(text);
    assert!(
        has(&without, "10%") && has(&without, "consolidateAfter: 0s"),
        "{without:?}"
    );
    assert!(
        has(&with, "nodes: \"0\"") && has(&with, "consolidateAfter: 7m"),
        "{with:?}"
    );
}

#[test]
fn budgets_explains_the_default_of_the_definition() {
    let at = ["budgets", "--at=2026-01-05T10:00:00Z", "--nodes=20", "pool.yaml"];
    let [without, with] = Scene::new().both(&at, "");
    let usual = "2 nodes may be disrupted at a time (the default)";
    assert!(without.stdout.contains(usual), "{without:?}");
    assert!(
        with.stdout.contains("no node may be disrupted (the default)"),
        "{with:?}"
    );
}

#[test]
fn a_policy_is_tested_by_the_definition_whatever_release_the_file_names() {
    let [without, with] = Scene::new().both(&["policy", "test", "cases.yaml"], "");
    assert_eq!(without.status.code(), Some(1), "{without:?}");
    assert_eq!(with.status.code(), Some(0), "{with:?}");
}

#[test]
fn admit_checks_by_the_definition_and_leaves_it_to_the_api_server_to_complete() {
    let review = include_str!("../../docs/examples/five-mistakes.review.json");
    let mut review: Value = serde_json::from_str(review).expect("a review");
    review["request"]["object"] = json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "general"},
        "spec": {"disruption": {"consolidationPolicy": "Patched"}, "template": {"spec": {
            "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
            "requirements": [],
        }}},
    });
    let review = review.to_string();
    let scene = Scene::new();
    let [without, with] = scene.both(&["admit"], &review);
    assert_eq!(without.status.code(), Some(1), "{without:?}");
    assert_eq!(with.status.code(), Some(0), "{with:?}");
    let [_, with] = scene.both(&["admit", "--mutate"], &review);
    let answer: Value = serde_json::from_str(&with.stdout).expect("an answer");
    assert_eq!(answer["response"]["allowed"], true);
    // The API server would have written the budgets before it calls the webhook.
    let patch = answer["response"]["patch"].as_str().expect("a patch");
    let patch = String::from_utf8(BASE64.decode(patch).expect("base64")).expect("a text");
    assert!(patch.contains("\"10%\""), "{patch}");
}

#[test]
fn a_file_without_the_definition_is_refused_by_each_command() {
    let scene = Scene::new();
    for command in [
        &["lint"][..],
        &["diff"],
        &["default"],
        &["budgets"],
        &["policy", "test"],
        &["policy", "check"],
        &["admit"],
    ] {
        let arguments = [command, &["--crd=pool.yaml"]].concat();
        let refused = run_in(scene.0.path(), &arguments, "");
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let why = "it contains no NodePool CRD of the group karpenter.sh";
        assert!(refused.stderr.contains(why), "{refused:?}");
    }
}

#[test]
fn a_definition_in_a_file_and_that_of_a_cluster_exclude_each_other() {
    let scene = Scene::new();
    for command in [&["lint"][..], &["budgets"], &["diff", "pool.yaml"]] {
        let arguments: Vec<&str> = command
            .iter()
            .copied()
            .chain(["--cluster", "--crd=crd.yaml"])
            .collect();
        let outcome = run_in(scene.0.path(), &arguments, "");
        assert_eq!(outcome.status.code(), Some(2), "{outcome:?}");
        assert!(
            outcome.stderr.contains("cannot be used with '--crd"),
            "{outcome:?}"
        );
    }
}
