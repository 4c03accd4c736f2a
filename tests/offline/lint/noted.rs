//! Lint's own findings on an object: no name, what only the webhook completes, invalid JSON.

use std::path::Path;

use super::{concise, lint_in};
use crate::support::files::directory;
use crate::support::nodepool::SOUND;

#[test]
fn an_object_without_a_name_is_an_error() {
    let outcome = concise(&SOUND.replace("metadata:\n  name: general\n", "metadata: {}\n"));
    assert!(
        outcome
            .stdout
            .starts_with("pool.yaml:3:1: error[manifest-name]: NodePool: an object must have a name"),
        "{outcome:?}"
    );
    assert_eq!(outcome.status.code(), Some(1));
    let generated = concise(&SOUND.replace("name: general", "generateName: general-"));
    assert_eq!(
        (generated.status.code(), generated.stdout.as_str()),
        (Some(0), "")
    );
}

#[test]
fn what_only_a_webhook_completes_is_an_error_of_the_releases_that_reject_it() {
    let bare = SOUND
        .replace("WhenEmptyOrUnderutilized", "WhenEmpty")
        .replace("    consolidateAfter: 1m\n", "");
    for (release, noted) in [("1.14.3", true), ("1.0.2", true), ("1.15", false)] {
        let arguments = ["--karpenter-version", release, "--output", "concise", "-"];
        let outcome = lint_in(Path::new("."), &arguments, &bare);
        let reported = format!(
            "<stdin>:6:3: error[manifest-default]: NodePool general: Karpenter {release} requires consolidateAfter"
        );
        assert_eq!(
            outcome.stdout.starts_with(&reported),
            noted,
            "{release}: {outcome:?}"
        );
        assert_eq!(outcome.stdout.lines().count(), usize::from(noted), "{outcome:?}");
        assert_eq!(outcome.status.code(), Some(i32::from(noted)), "{outcome:?}");
    }

    // Without a release the newest one decides, and a line says what others would do.
    let guessed = concise(&bare);
    assert_eq!((guessed.status.code(), guessed.stdout.as_str()), (Some(0), ""));
    assert!(guessed.stderr.contains("1 NodePool without"), "{guessed:?}");
    let declared = |cluster: &str| {
        let policy = format!("apiVersion: poolgate.dev/v1alpha1\nkind: Policy\ncluster: {cluster}\n");
        let directory = directory(&[(".poolgate.yaml", &policy), ("pool.yaml", &bare)]);
        lint_in(directory.path(), &["--output", "concise", "pool.yaml"], "")
    };
    let old = declared("{karpenter: 1.14.3}");
    assert!(old.stdout.contains("Karpenter 1.14.3 requires"), "{old:?}");
    assert_eq!(old.status.code(), Some(1));
    for cluster in [
        "{karpenter: 1.14.3, webhook: defaults}",
        "{webhook: defaults}",
        "{karpenter: \"1.15\"}",
    ] {
        let fine = declared(cluster);
        assert_eq!(
            (fine.status.code(), fine.stdout.as_str()),
            (Some(0), ""),
            "{cluster}"
        );
        assert!(!fine.stderr.contains("for want of"), "{fine:?}");
    }
}

/// An object in JSON but for a comma.
const IN_JSON: &str = "{\"apiVersion\": \"karpenter.sh/v1\", \"kind\": \"NodePool\", \"metadata\": {\"name\": \"a\"},\n \
    \"spec\": {\"disruption\": {\"budgets\": [{\"nodes\": \"10%\"}], \"consolidateAfter\": \"1m\"}, \
    \"template\": {\"spec\": {\n  \"requirements\": [], \"nodeClassRef\": {\"group\": \
    \"karpenter.k8s.aws\", \"kind\": \"EC2NodeClass\", \"name\": \"d\"},\n }}}}\n";

/// With a line in front, an object in JSON is one long text for YAML, and kubectl rejects it.
#[test]
fn an_object_behind_a_comment_of_another_language_is_not_passed_over() {
    let object = IN_JSON.replace(",\n }", "\n }").replace(": ", ":");
    for (text, findings) in [
        (format!("// pools of team a\n{object}"), 1),
        (format!("/* pools of team a */\n{object}"), 1),
        (format!("# pools of team a\n{object}"), 0),
        ("\"aé {apiVersion: karpenter.sh/v1\"\n".to_owned(), 1),
        ("// of karpenter.sh/v1, apiVersion of old\n".to_owned(), 0),
    ] {
        let directory = directory(&[("a.yaml", &text)]);
        let shown = lint_in(directory.path(), &["."], "");
        assert!(!shown.stderr.contains("panicked"), "{shown:?}");
        let outcome = lint_in(directory.path(), &["--output", "concise", "."], "");
        let reported = "a.yaml:1:1: error[manifest-syntax]: this document is a text, not an object";
        assert_eq!(outcome.stdout.matches(reported).count(), findings, "{outcome:?}");
        assert_eq!(
            outcome.status.code(),
            Some(i32::from(findings > 0)),
            "{outcome:?}"
        );
    }
}

/// kubectl reads a file that is not JSON as YAML, whatever its name.
#[test]
fn a_file_named_as_json_that_is_only_yaml_is_a_warning() {
    let json = IN_JSON;
    let right = json.replace(",\n }", "\n }");
    let directory = directory(&[("a.json", json), ("a.yaml", json), ("b.json", &right)]);
    let outcome = lint_in(directory.path(), &["--output", "concise", "."], "");
    assert_eq!(outcome.stdout.lines().count(), 1, "{outcome:?}");
    let reported = "a.json:4:2: warning[manifest-json]: the file is YAML, not JSON: there is a comma";
    assert!(outcome.stdout.starts_with(reported), "{outcome:?}");
    assert_eq!(outcome.status.code(), Some(0));
}
