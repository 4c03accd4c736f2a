//! The policy nearest to a file, and what has priority over it.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use super::{NEWEST, lint_in};
use crate::support::files::directory;
use crate::support::nodepool::SOUND;
use crate::support::program;

/// A policy that allows this many processors.
fn at_most(cpu: u32) -> String {
    format!(
        "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\nbounds:\n  limits:\n    max:\n      cpu: {cpu}\n"
    )
}

/// Three pools of 100 processors in a repository, one folder of which has its own policy.
fn repository() -> TempDir {
    let strict = at_most(50);
    let lax = at_most(500);
    directory(&[
        (".poolgate.yaml", &strict),
        (".git/HEAD", ""),
        ("pool.yaml", SOUND),
        ("prod/pools/pool.yaml", SOUND),
        ("lax/.poolgate.yaml", &lax),
        ("lax/pools/pool.yaml", SOUND),
        ("vendored/.git/HEAD", ""),
        ("vendored/pool.yaml", SOUND),
        ("policy.yaml", &lax),
    ])
}

fn denied(directory: &TempDir, folder: &str, arguments: &[&str]) -> Vec<String> {
    let arguments = [arguments, &["--format", "concise"]].concat();
    let outcome = lint_in(&directory.path().join(folder), &arguments, "");
    let lines = outcome.stdout.lines();
    let lines = lines.filter(|line| line.contains("[policy-limit-max]"));
    lines
        .filter_map(|line| Some(line.split_once(':')?.0.to_owned()))
        .collect()
}

#[test]
fn each_file_is_checked_by_the_policy_nearest_to_it_and_none_from_outside_its_repository() {
    let directory = repository();
    assert_eq!(
        denied(&directory, ".", &["."]),
        ["pool.yaml", "prod/pools/pool.yaml"]
    );
    assert_eq!(
        denied(&directory, "prod", &["pools/pool.yaml"]),
        ["pools/pool.yaml"]
    );
    assert_eq!(denied(&directory, "prod/pools", &["."]), ["pool.yaml"]);
    assert_eq!(denied(&directory, "prod", &["../lax"]), [""; 0]);
    assert_eq!(denied(&directory, "vendored", &["."]), [""; 0]);
    let absolute = directory.path().join("pool.yaml");
    let absolute = absolute.to_str().expect("UTF-8");
    assert_eq!(denied(&directory, "lax", &[absolute]), [absolute]);
}

#[test]
fn a_named_policy_wins_and_isolated_looks_for_none() {
    let directory = repository();
    assert_eq!(denied(&directory, ".", &["--policy=policy.yaml", "."]), [""; 0]);
    assert_eq!(denied(&directory, ".", &["--isolated", "."]), [""; 0]);
    let strict = &["--isolated", "--policy=.poolgate.yaml", "."];
    assert_eq!(denied(&directory, ".", strict).len(), 4);
}

#[test]
fn standard_input_is_checked_where_its_name_says_it_stands() {
    let directory = repository();
    let codes = [("pool.yaml", 1), ("lax/pools/new.yaml", 0), ("gone/new.yaml", 1)];
    for (name, code) in codes {
        let outcome = lint_in(directory.path(), &["--stdin-filename", name, "-"], SOUND);
        assert_eq!(outcome.status.code(), Some(code), "{name}: {outcome:?}");
    }
    assert_eq!(lint_in(directory.path(), &["-"], SOUND).status.code(), Some(1));
}

#[test]
fn the_run_says_which_policies_checked() {
    let directory = repository();
    let says = |arguments: &[&str]| lint_in(directory.path(), arguments, "").stderr;
    assert_eq!(
        says(&["pool.yaml"]),
        format!(
            "1 NodePool or NodeClaim in 1 file, checked for Karpenter {NEWEST} by .poolgate.yaml: 1 error\n"
        )
    );
    assert!(
        says(&["lax", "vendored"]).contains("by the built-in policy and lax/.poolgate.yaml: nothing found"),
        "{}",
        says(&["lax", "vendored"])
    );
    let json = lint_in(directory.path(), &["--format=json", "."], "").stdout;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let both = serde_json::json!([".poolgate.yaml", "lax/.poolgate.yaml"]);
    assert_eq!(json["summary"]["policies"], both);
}

#[test]
fn a_policy_with_a_mistake_ends_the_run() {
    let directory = directory(&[(".poolgate.yaml", "kind: Polcy\n"), ("pool.yaml", SOUND)]);
    let outcome = lint_in(directory.path(), &["pool.yaml"], "");
    assert_eq!((outcome.status.code(), outcome.stdout.as_str()), (Some(2), ""));
    assert!(
        outcome.stderr.contains("\n.poolgate.yaml:1:"),
        "{}",
        outcome.stderr
    );
    let isolated = lint_in(directory.path(), &["--isolated", "pool.yaml"], "");
    assert_eq!(isolated.status.code(), Some(0), "{isolated:?}");
}

#[test]
fn defaults_are_those_of_the_nearest_policy() {
    let policy = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\ndefaults: {consolidateAfter: 7m}\n";
    let bare = SOUND.replace("    consolidateAfter: 1m\n", "");
    let directory = directory(&[(".poolgate.yaml", policy), ("pools/pool.yaml", &bare)]);
    let default = |arguments: &[&str]| {
        let arguments = [
            &["default", "--karpenter-version=1.14"],
            arguments,
            &["pools/pool.yaml"],
        ]
        .concat();
        program::run_in(directory.path(), &arguments, "")
    };
    let outcome = default(&[]);
    assert!(outcome.stdout.contains("consolidateAfter: 7m\n"), "{outcome:?}");
    assert_eq!(outcome.stderr, "defaults of the policy .poolgate.yaml\n");
    let outcome = default(&["--isolated"]);
    assert!(outcome.stdout.contains("consolidateAfter: 0s\n"), "{outcome:?}");
}

/// A command that checks for a cluster, or as one, gets its policy by flag: a pull request must not bring its own.
#[test]
fn what_checks_for_a_cluster_looks_for_no_policy() {
    let directory = repository();
    let object: Value = serde_json::from_str(
        &program::run_in(
            directory.path(),
            &["lint", "--format=json", "--isolated", "pool.yaml"],
            "",
        )
        .stdout,
    )
    .expect("JSON");
    assert_eq!(object["summary"]["objects"], 1);
    let review = include_str!("../../../docs/examples/five-mistakes.review.json");
    let mut review: Value = serde_json::from_str(review).expect("a review");
    review["request"]["object"] = serde_json::json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "general"},
        "spec": {"limits": {"cpu": "100"}, "template": {"spec": {
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
            "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
        }}},
    });
    let admit = |arguments: &[&str]| {
        let arguments = [&["admit"], arguments].concat();
        program::run_in(directory.path(), &arguments, &review.to_string())
            .status
            .code()
    };
    assert_eq!(admit(&[]), Some(0));
    assert_eq!(admit(&["--policy=.poolgate.yaml"]), Some(1));
    fs::remove_file(directory.path().join("policy.yaml")).expect("a file");
    let bare = SOUND.replace("    budgets:\n    - nodes: 10%\n", "");
    let budgets = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\ndefaults: {budgets: [{nodes: \"3\"}]}\n";
    fs::write(directory.path().join(".poolgate.yaml"), budgets).expect("a policy");
    let said = program::run_in(directory.path(), &["budgets", "-"], &bare).stdout;
    assert!(said.contains("by the default"), "{said}");
}
