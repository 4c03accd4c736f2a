//! The policy nearest to a file, and what has priority over it.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use super::{ASSUMED, lint_in};
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
    let arguments = [arguments, &["--output", "concise"]].concat();
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
            "1 NodePool in 1 file, checked for Karpenter {ASSUMED} by .poolgate.yaml: 1 error\n\
             more about a rule: poolgate explain policy-limit-max\n"
        )
    );
    assert!(
        says(&["lax", "vendored"]).contains("by the built-in policy and lax/.poolgate.yaml: nothing found"),
        "{}",
        says(&["lax", "vendored"])
    );
    let json = lint_in(directory.path(), &["--output=json", "."], "").stdout;
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
    assert_eq!(outcome.stderr, "using the defaults of policy .poolgate.yaml\n");
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
            &["lint", "--output=json", "--isolated", "pool.yaml"],
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
    assert!(said.contains("(the default)"), "{said}");
}

#[test]
fn an_exemption_that_mistypes_a_pool_with_its_findings_is_pointed_out_and_no_other() {
    let policy = |pools: &str| {
        let head = at_most(50);
        format!("{head}exemptions:\n- pools: [{pools}]\n  rules: [policy-limit-*]\n")
    };
    let said = |pools: &str, names: &[&str], arguments: &[&str]| {
        let text: Vec<String> = names
            .iter()
            .map(|name| SOUND.replace("name: general", &format!("name: {name}")))
            .collect();
        let directory = directory(&[("policy.yaml", &policy(pools)), ("a.yaml", &text.join("---\n"))]);
        let arguments = [&["--policy", "policy.yaml", "a.yaml"], arguments].concat();
        lint_in(directory.path(), &arguments, "").stderr
    };
    let line = "policy.yaml: exemptions[0] names the pool frozn, but no checked pool has this name. Did you mean frozen?\n";
    assert!(said("frozn", &["frozen"], &[]).ends_with(line));
    assert!(said("'other-*', frozn", &["web", "frozen"], &[]).ends_with(line));
    for (pools, names) in [
        ("frozn", &["web"][..]),
        ("frozen", &["frozen"]),
        ("frozn, frozen", &["frozen"]),
        ("frozn", &["frozn", "frozen"]),
        ("gpu-b", &["gpu-a"]),
        ("'froz*'", &["frozen"]),
    ] {
        let stderr = said(pools, names, &[]);
        assert!(!stderr.contains("exemptions"), "{pools} {names:?}: {stderr}");
    }
    assert_eq!(said("frozn", &["frozen"], &["--output", "json"]), "");
    let fine = said("frozn", &["frozen"], &["--at", "2027-01-01"]);
    assert!(fine.contains("exemptions[0]"), "{fine}");
}

#[test]
fn the_release_is_that_of_the_flag_else_the_providers_else_the_declared_one() {
    let policy =
        |cluster: &str| format!("apiVersion: poolgate.dev/v1alpha1\nkind: Policy\ncluster: {{{cluster}}}\n");
    let both = policy("karpenter: 1.15.0, provider: gcp, providerVersion: 0.5.0");
    let unknown = policy("karpenter: 1.14.0, provider: gcp, providerVersion: 0.6.0");
    let directory = directory(&[
        ("both.yaml", &both),
        ("unknown.yaml", &unknown),
        ("a.yaml", SOUND),
        ("b.yaml", SOUND),
    ]);
    let line =
        "Google Cloud 0.5.0 contains Karpenter 1.13.0, not 1.15.0: NodePools are checked as for 1.13.0\n";
    for (arguments, release, lines) in [
        (&["--policy", "both.yaml", "a.yaml", "b.yaml"][..], "1.13.0", 1),
        (
            &["--policy", "both.yaml", "--karpenter-version", "1.9", "a.yaml"],
            "1.9.0",
            0,
        ),
        (&["--policy", "unknown.yaml", "a.yaml"], "1.14.0", 0),
    ] {
        let stderr = lint_in(directory.path(), arguments, "").stderr;
        assert!(
            stderr.contains(&format!("checked for Karpenter {release}")),
            "{stderr}"
        );
        assert_eq!(stderr.matches(line).count(), lines, "{stderr}");
    }
}

#[test]
fn a_release_that_is_newer_or_older_than_the_known_ones_is_pointed_out_once() {
    let policy = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\ncluster: {karpenter: \"2.0\"}\n";
    let directory = directory(&[("policy.yaml", policy), ("a.yaml", SOUND), ("b.yaml", SOUND)]);
    let line = |release: &str| {
        let newest = poolgate_core::facts::KarpenterVersion::NEWEST;
        format!(
            "Karpenter {release} is newer than this poolgate knows: NodePools are checked as for {newest}\n"
        )
    };
    let checked = format!(
        "checked for Karpenter {}",
        poolgate_core::facts::KarpenterVersion::NEWEST
    );
    for (arguments, release) in [
        (&["--karpenter-version", "1.99", "a.yaml", "b.yaml"][..], "1.99.0"),
        (&["--karpenter-version", "2.0", "a.yaml"], "2.0.0"),
        (&["--policy", "policy.yaml", "a.yaml", "b.yaml"], "2.0.0"),
    ] {
        let stderr = lint_in(directory.path(), arguments, "").stderr;
        assert!(stderr.contains(&checked), "{stderr}");
        assert_eq!(stderr.matches(&line(release)).count(), 1, "{stderr}");
    }
    let old = lint_in(
        directory.path(),
        &["--karpenter-version", "0.36", "a.yaml", "b.yaml"],
        "",
    )
    .stderr;
    let line = "Karpenter 0.36.0 is older than this poolgate knows: NodePools are checked as for 0.37.1, \
                although before 0.37.1 they may have 30 requirements, and before 0.34 no budgets\n";
    assert_eq!(old.matches(line).count(), 1, "{old}");
    let known = lint_in(directory.path(), &["--karpenter-version", "1.15.3", "a.yaml"], "");
    assert!(known.stderr.contains("checked for Karpenter 1.15.3"), "{known:?}");
    assert!(!known.stderr.contains("newer"), "{known:?}");
    let noted = program::run_in(directory.path(), &["policy", "check", "policy.yaml"], "");
    assert!(
        noted
            .stdout
            .starts_with("policy.yaml:3:22: note: Karpenter 2.0.0 "),
        "{noted:?}"
    );
    assert_eq!(noted.status.code(), Some(0));
}
