//! What `--fix` leaves to the author, and reports.

use std::fs;

use super::lint_in;
use crate::support::files::directory;
use crate::support::nodepool::SOUND;

#[test]
fn a_value_that_an_alias_brings_is_left_and_reported_and_the_rest_is_fixed() {
    let text = SOUND
        .replace(
            "name: general",
            "name: general\n  annotations: {example.com/a: &d 1d}",
        )
        .replace("consolidateAfter: 1m", "consolidateAfter: *d")
        .replace("nodes: 10%", "nodes: 5");
    let directory = directory(&[("a.yaml", &text)]);
    let outcome = lint_in(directory.path(), &["--fix", "a.yaml"], "");
    let fixed = fs::read_to_string(directory.path().join("a.yaml")).expect("a file");
    assert_eq!(fixed, text.replace("nodes: 5", "nodes: \"5\""));
    assert!(outcome.stderr.contains("; 1 place fixed"), "{outcome:?}");
    let reported = "a.yaml:9:23: not fixed: the value comes from an alias. Change it where it is defined\n";
    assert!(outcome.stderr.contains(reported), "{outcome:?}");
}

#[test]
fn a_value_that_aliases_take_elsewhere_is_left_and_reported_and_the_rest_is_fixed() {
    let item = |text: &str| format!("- {}", text.trim_end().replace('\n', "\n  "));
    let first = SOUND
        .replace("disruption:", "disruption: &d")
        .replace("1m", "1d")
        .replace("\"100\"", "1_00 ")
        .replace("memory: 100Gi", "memory: 100 Gi");
    let (disruption, _) = SOUND.split_once("  limits").expect("limits");
    let (head, disruption) = disruption.split_once("  disruption:").expect("disruption");
    let second = SOUND.replace(
        &format!("{head}  disruption:{disruption}"),
        &format!("{head}  disruption: *d\n"),
    );
    let text = format!(
        "apiVersion: v1\nkind: List\nitems:\n{}\n{}\n",
        item(&first),
        item(&second)
    );
    let directory = directory(&[("a.yaml", &text)]);
    let outcome = lint_in(directory.path(), &["--fix", "a.yaml"], "");
    let fixed = fs::read_to_string(directory.path().join("a.yaml")).expect("a file");
    assert_eq!(fixed, text.replace("memory: 100 Gi", "memory: 100Gi"));
    let reported = "not fixed: other fields use this value through aliases. Change it by hand\n";
    assert!(outcome.stderr.contains(reported), "{outcome:?}");
}

#[test]
fn no_fix_is_offered_for_a_block_or_for_a_tag_that_it_contradicts() {
    let text = SOUND
        .replace("consolidateAfter: 1m", "consolidateAfter: |-\n      1d")
        .replace(
            "- nodes: 10%",
            "- nodes: !!int 5\n      schedule: >-\n        0 9 * *\n        1-7\n      duration: &d 1d",
        )
        .replace("  limits:", "  weight: !!str 10\n  limits:")
        .replace("memory: 100Gi", "memory: !!str 100 Gi");
    let directory = directory(&[("a.yaml", &text)]);
    let offered = |format: &str, mark: &str| {
        let outcome = lint_in(directory.path(), &["--output", format, "a.yaml"], "");
        outcome.stdout.matches(mark).count()
    };
    for (format, mark) in [("json", "\"edit\""), ("sarif", "\"fixes\""), ("human", " + ")] {
        assert_eq!(offered(format, mark), 2, "{format}");
    }
    let outcome = lint_in(directory.path(), &["--fix", "a.yaml"], "");
    let fixed = fs::read_to_string(directory.path().join("a.yaml")).expect("a file");
    let expected = text
        .replace("duration: &d 1d", "duration: &d 24h")
        .replace("!!str 100 Gi", "!!str 100Gi");
    assert_eq!(fixed, expected);
    let why = "not fixed: a tag or a block scalar is here. Change it by hand\n";
    assert_eq!(outcome.stderr.matches(why).count(), 4, "{outcome:?}");
}

#[test]
fn a_fix_that_needs_another_one_is_left_where_that_one_cannot_be_made() {
    let mistakes = "    consolidationPolicy: whenempty\n    ConsolidateAfter: 1d\n";
    let text = SOUND
        .replace("karpenter.sh/v1", "karpenter.sh/v1beta1")
        .replace(
            "{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}",
            "{name: default}",
        )
        .replace(
            "name: general",
            "name: general\n  annotations: {example.com/a: &d 1d}",
        )
        .replace(
            "    consolidationPolicy: WhenEmptyOrUnderutilized\n    consolidateAfter: 1m\n",
            mistakes,
        );
    let fixed = |text: &str| {
        let directory = directory(&[("a.yaml", text)]);
        let outcome = lint_in(directory.path(), &["--fix", "a.yaml"], "");
        let fixed = fs::read_to_string(directory.path().join("a.yaml")).expect("a file");
        (fixed, outcome.stderr)
    };
    let right = "    consolidationPolicy: WhenEmpty\n    consolidateAfter: 24h\n";
    assert_eq!(fixed(&text).0, text.replace(mistakes, right), "both together");
    let alias = text
        .replace("ConsolidateAfter: 1d", "ConsolidateAfter: *d")
        .replace("nodes: 10%", "nodes: 5");
    let (left, said) = fixed(&alias);
    let others = alias.replace("nodes: 5", "nodes: \"5\"");
    assert_eq!(left, others, "WhenEmpty alone would lack its duration");
    let why = "a.yaml:8:26: not fixed: the fix would cause an error";
    assert!(said.contains(why), "{said}");
}

#[test]
fn patches_encrypted_documents_and_templates_stay_as_they_are() {
    let broken = SOUND.replace("consolidateAfter: 1m", "consolidateAfter: 1d");
    let sops = format!("{broken}sops:\n  mac: ENC[AES256_GCM,data:x,type:str]\n");
    let value = broken.replace("name: default", "name: '{{ .Values.class }}'");
    let lines = format!("{broken}---\n{{{{- if .Values.gpu }}}}\n{broken}{{{{- end }}}}\n");
    let files = [
        ("prod/patch.yaml", broken.as_str()),
        ("sops.yaml", &sops),
        ("value.yaml", &value),
        ("lines.yaml", &lines),
    ];
    let directory = directory(&[
        files[0],
        files[1],
        files[2],
        files[3],
        ("prod/kustomization.yaml", "patches: [{path: patch.yaml}]\n"),
    ]);
    let outcome = lint_in(
        directory.path(),
        &["--fix", "--output", "json=report.json", "."],
        "",
    );
    for (name, text) in files {
        let left = fs::read_to_string(directory.path().join(name)).expect("a file");
        assert_eq!(left, text, "{name}");
    }
    assert!(!outcome.stderr.contains("places fixed"), "{outcome:?}");
    for reported in [
        "prod/patch.yaml:8:23: not fixed: a kustomization names it as a patch",
        "value.yaml:8:23: not fixed: it is a template",
        "lines.yaml:8:23: not fixed: it is a template",
        "1 encrypted document skipped",
    ] {
        assert!(
            outcome.stderr.contains(reported),
            "{reported}: {}",
            outcome.stderr
        );
    }
    let report = fs::read_to_string(directory.path().join("report.json")).expect("a report");
    assert!(!report.contains("\"edit\""), "what a click would write: {report}");
}
