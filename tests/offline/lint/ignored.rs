//! What is not reported again: because of comments in the text.

use super::{concise, lint_in};
use crate::support::files::directory;
use crate::support::nodepool::SOUND;

fn rules(stdout: &str) -> Vec<&str> {
    stdout
        .lines()
        .filter_map(|line| line.split_once('[')?.1.split_once(']'))
        .map(|(rule, _)| rule)
        .collect()
}

#[test]
fn a_comment_ignores_a_rule_where_it_stands_and_is_counted() {
    let text = SOUND.replace(
        "100Gi",
        "100 # poolgate: ignore limit-unit -- a hundred bytes will do",
    );
    let reported = concise(&SOUND.replace("100Gi", "100"));
    assert_eq!(rules(&reported.stdout), ["limit-unit"], "{reported:?}");
    let outcome = concise(&text);
    assert_eq!(outcome.stdout, "", "{outcome:?}");
    assert_eq!(outcome.status.code(), Some(0));
    assert!(
        outcome.stderr.contains("1 finding ignored by comments"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn what_karpenter_rejects_is_not_ignored_into_silence() {
    let text = SOUND.replace(
        "spec:\n  disruption",
        "spec:\n  weight: 1000 # poolgate: ignore weight -- we know better\n  disruption",
    );
    let outcome = concise(&text);
    assert_eq!(rules(&outcome.stdout), ["weight"], "{outcome:?}");
    assert!(outcome.stdout.contains(": warning["), "{outcome:?}");
    assert_eq!(outcome.status.code(), Some(1), "Karpenter rejects it");
    let reported = "1 warning (1 that Karpenter rejects anyway)";
    assert!(outcome.stderr.contains(reported), "{outcome:?}");
}

#[test]
fn no_policy_and_no_comment_makes_green_what_karpenter_rejects() {
    const DENIED: &str = "but Karpenter rejects it";
    let policy = |rest: &str| format!("apiVersion: poolgate.dev/v1alpha1\nkind: Policy\n{rest}\n");
    let percent = SOUND.replace("nodes: 10%", "nodes: 101%");
    let days = SOUND.replace(
        "  template:\n    spec:\n",
        "  template:\n    spec:\n      expireAfter: 30d # poolgate: ignore expire-after -- we like days\n",
    );
    let window = SOUND.replace(
        "nodes: 10%",
        "nodes: 10%\n      schedule: \"@daily\"\n      duration: 1d",
    );
    for (text, policy) in [
        (&percent, policy("rules: {budget-nodes: off}")),
        (&percent, policy("rules: {budget-nodes: note}")),
        (&percent, policy("enforcement: warn")),
        (&percent, policy("exemptions: [{pools: [\"*\"], rules: [\"*\"]}]")),
        (&window, policy("rules: {budget-duration: off}")),
        (&days, policy("")),
        (&days, policy("rules: {expire-after: off}")),
    ] {
        let directory = directory(&[("policy.yaml", &policy), ("a.yaml", text)]);
        let lint = |arguments: &[&str]| {
            let arguments = [&["--policy", "policy.yaml"], arguments, &["a.yaml"]].concat();
            lint_in(directory.path(), &arguments, "")
        };
        let outcome = lint(&["--output", "human"]);
        assert_eq!(outcome.status.code(), Some(1), "{policy}: {outcome:?}");
        assert!(outcome.stdout.contains("warning["), "{policy}: {outcome:?}");
        assert!(outcome.stdout.contains(DENIED), "{policy}: {outcome:?}");
        assert!(!outcome.stdout.contains("so not denied"), "{policy}: {outcome:?}");
        let junit = lint(&["--output", "junit"]).stdout;
        assert!(junit.contains("<failure message="), "{policy}: {junit}");
        let json = lint(&["--output", "json"]).stdout;
        assert!(json.contains("\"rejected\":true"), "{policy}: {json}");
        assert_eq!(lint(&["--exit-zero"]).status.code(), Some(0));
    }
}

#[test]
fn what_karpenter_takes_is_the_policys_to_weigh() {
    let text = SOUND.replace("100Gi", "-1Gi");
    for rest in ["enforcement: warn", "rules: {limit-amount: off}"] {
        let policy = format!("apiVersion: poolgate.dev/v1alpha1\nkind: Policy\n{rest}\n");
        let directory = directory(&[("policy.yaml", &policy), ("a.yaml", &text)]);
        let outcome = lint_in(directory.path(), &["--policy", "policy.yaml", "a.yaml"], "");
        assert_eq!(outcome.status.code(), Some(0), "{rest}: {outcome:?}");
        assert!(
            !outcome.stdout.contains("Karpenter rejects it"),
            "{rest}: {outcome:?}"
        );
    }
}

#[test]
fn comments_that_do_nothing_are_findings_at_their_place() {
    let text = SOUND.replace(
        "spec:\n  disruption",
        "spec:\n  # poolgate: ignore no-such-rule -- why\n  disruption",
    );
    let outcome = concise(&text);
    assert!(
        outcome
            .stdout
            .starts_with("pool.yaml:6:22: error[ignore-unknown]"),
        "{outcome:?}"
    );
    assert_eq!(outcome.status.code(), Some(1));
    let unused = concise(&SOUND.replace("100Gi", "100Gi # poolgate: ignore limit-amount -- why"));
    assert_eq!(rules(&unused.stdout), ["ignore-unused"], "{unused:?}");
}

#[test]
fn standard_input_goes_by_the_name_that_is_given() {
    let outcome = lint_in(
        std::path::Path::new("."),
        &["--output=concise", "--stdin-filename", "pools/a.yaml", "-"],
        &SOUND.replace("100Gi", "-1Gi"),
    );
    assert!(outcome.stdout.starts_with("pools/a.yaml:"), "{outcome:?}");
}
