//! Objects that the cluster does not accept, and the release that decides.

use serde_json::Value;

use super::{concise, lint_in};
use crate::support::files::directory;
use crate::support::nodepool::SOUND;
use crate::support::process::Outcome;

fn checked_for(release: &str, text: &str) -> Outcome {
    let arguments = ["--karpenter-version", release, "--output", "concise", "-"];
    lint_in(std::path::Path::new("."), &arguments, text)
}

fn beta() -> String {
    SOUND
        .replace("karpenter.sh/v1", "karpenter.sh/v1beta1")
        .replace("WhenEmptyOrUnderutilized", "WhenEmpty")
        .replace(
            "group: karpenter.k8s.aws",
            "apiVersion: karpenter.k8s.aws/v1beta1",
        )
}

#[test]
fn an_object_that_the_release_does_not_serve_is_an_error_at_its_place() {
    for (written, instead, place, suggestion) in [
        ("kind: NodePool", "kind: Nodepool", "2:7", "Write NodePool."),
        (
            "karpenter.sh/v1",
            "karpenter.sh/v2",
            "1:13",
            "Write karpenter.sh/v1.",
        ),
        (
            "kind: NodePool",
            "kind: EC2NodeClass",
            "1:13",
            "Write karpenter.k8s.aws/v1.",
        ),
        ("kind: NodePool\n", "", "1:1", "Add kind: NodePool."),
        (
            "apiVersion: karpenter.sh/v1\n",
            "",
            "1:1",
            "Add apiVersion: karpenter.sh/v1.",
        ),
    ] {
        let text = SOUND.replacen(written, instead, 1);
        let outcome = concise(&text);
        let start = format!("pool.yaml:{place}: error[manifest-kind]: ");
        assert_eq!(outcome.stdout.lines().count(), 1, "{instead}: {outcome:?}");
        assert!(
            outcome.stdout.starts_with(&start),
            "{instead}: {}",
            outcome.stdout
        );
        let directory = directory(&[("pool.yaml", &text)]);
        let whole = lint_in(directory.path(), &["--output", "github", "pool.yaml"], "").stdout;
        assert!(whole.contains(suggestion), "{instead}: {whole}");
        assert_eq!(outcome.status.code(), Some(1));
    }
}

#[test]
fn a_list_at_the_root_is_an_error_if_objects_of_karpenter_stand_in_it() {
    let list = format!("- {}", SOUND.trim_end().replace('\n', "\n  "));
    let outcome = concise(&list);
    assert!(
        outcome
            .stdout
            .starts_with("pool.yaml:1:3: error[manifest-kind]: kubectl rejects a list"),
        "{outcome:?}"
    );
    let patch =
        "- op: add\n  path: /metadata/annotations/karpenter.sh~1do-not-disrupt\n  value: nodeClassRef\n";
    let outcome = concise(patch);
    assert_eq!((outcome.status.code(), outcome.stdout.as_str()), (Some(0), ""));
}

#[test]
fn each_version_is_checked_by_the_release_that_is_named() {
    for (text, release, denied) in [
        (SOUND, "0.37", false),
        (&beta(), "1.0", false),
        (&beta(), "1.1", true),
    ] {
        let outcome = checked_for(release, text);
        let unserved = outcome
            .stdout
            .contains("serves NodePool as karpenter.sh/v1, not as ");
        assert_eq!(unserved, denied, "{release}: {outcome:?}");
        assert_eq!(
            outcome.status.code(),
            Some(i32::from(denied)),
            "{release}: {outcome:?}"
        );
    }
}

#[test]
fn v1beta1_without_a_release_is_one_note_of_a_run() {
    let two = format!("{}---\n{}", beta(), beta());
    let directory = directory(&[("a.yaml", &two), ("b.yaml", &two), ("c.yaml", SOUND)]);
    for format in ["concise", "github", "gitlab", "human", "json", "junit", "sarif"] {
        let outcome = lint_in(directory.path(), &["--output", format, "."], "");
        assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
        let reported = outcome.stdout.matches("is checked for Karpenter 1.0.8").count();
        assert_eq!(reported, 1, "{format}: {}", outcome.stdout);
    }
    let json = lint_in(directory.path(), &["--output", "json", "."], "").stdout;
    let report: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(report["summary"]["notes"], 1, "{report}");
    assert_eq!(report["results"][0]["file"], "a.yaml");
}

#[test]
fn a_gate_of_karpenter_that_every_static_pool_needs_is_one_note_of_a_run() {
    let limits = "  limits:\n    cpu: \"100\"\n    memory: 100Gi\n";
    let fixed = SOUND.replace(limits, "  replicas: 3\n");
    let two = format!("{fixed}---\n{fixed}");
    let policy = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\nrules: {replicas-gate: warning}\n";
    let directory = directory(&[("a.yaml", &two), ("b.yaml", &two), ("policy", policy)]);
    let reported = |more: &[&str]| {
        let outcome = lint_in(
            directory.path(),
            &[&["--output", "concise"], more, &["."]].concat(),
            "",
        );
        assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
        outcome.stdout.matches("[replicas-gate]").count()
    };
    assert_eq!(reported(&[]), 1);
    assert_eq!(
        reported(&["--policy", "policy"]),
        4,
        "who gives it a level wants to see each"
    );
}

#[test]
fn what_shows_no_nodepool_is_nobodys_mistake() {
    let pool = SOUND.replace('\n', "\n  ");
    for text in [
        &format!("nodePools:\n  general:\n  {pool}"),
        "apiVersion: karpenter.sh/v1\nnodePools: []\n",
        "[{\"karpenter.sh/nodepool\": \"a\"}]",
        "resources: [pool.yaml]\npatches:\n- target: {group: karpenter.sh, kind: Nodepool}\n  path: a.yaml\n",
        "apiVersion: karpenter.sh/v1alpha1\nkind: NodeOverlay\nmetadata: {name: a}\n",
        "apiVersion: hypershift.openshift.io/v1beta1\nkind: NodePool # not of karpenter.sh\n",
    ] {
        let outcome = concise(text);
        assert_eq!(
            (outcome.status.code(), outcome.stdout.as_str()),
            (Some(0), ""),
            "{text}"
        );
    }
}

#[test]
fn a_patch_need_not_say_what_it_is_a_patch_of() {
    let directory = directory(&[
        ("kustomization.yaml", "patches:\n- path: weight.yaml\n"),
        ("weight.yaml", "apiVersion: karpenter.sh/v1\nspec:\n  weight: 5\n"),
    ]);
    let outcome = lint_in(directory.path(), &["--output", "concise", "."], "");
    assert_eq!((outcome.status.code(), outcome.stdout.as_str()), (Some(0), ""));
}

#[test]
fn a_comment_knows_an_object_that_is_not_served() {
    let wrong = SOUND.replace("kind: NodePool", "kind: Nodepool");
    let ignored = wrong.replace(
        "kind: Nodepool",
        "kind: Nodepool # poolgate: ignore manifest-kind -- another program renames it",
    );
    let directory = directory(&[("a.yaml", &ignored)]);
    let outcome = lint_in(directory.path(), &["--output", "concise", "a.yaml"], "");
    assert!(
        outcome.stdout.starts_with("a.yaml:2:7: warning[manifest-kind]"),
        "{outcome:?}"
    );
}
