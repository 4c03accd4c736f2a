//! What is not reported again: because of comments in the text.

use super::lint_in;
use crate::support::files::directory;
use crate::support::nodepool::SOUND;

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
