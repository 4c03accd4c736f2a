//! What `poolgate budgets` adds to the numbers: what else a budget stops, and what none does. The words are in one
//! snapshot, with a section for each case; a note that stands there already is only named.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::{MONDAY, budgets, pool};

/// What the command says of a manifest.
fn said(arguments: &[&str], manifest: &str) -> String {
    let (code, said, complaints) = budgets(&[&[MONDAY], arguments].concat(), manifest);
    assert_eq!((code, complaints.as_str()), (Some(0), ""));
    said
}

/// A pool with these fields of `spec`, and of its template.
fn spec(spec: &str, template: &str) -> String {
    format!(
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: a}}\n\
         spec: {{{spec}, template: {{spec: {{{template}}}}}}}\n"
    )
}

const FREEZE: &str = "disruption: {budgets: [{nodes: \"0\", schedule: \"0 9 * * *\", duration: 8h}]}";

const FROZEN: &str = "disruption: {budgets: [{nodes: \"0\"}]}";

const EKS: &str = "nodeClassRef: {group: eks.amazonaws.com, kind: NodeClass, name: default}";

/// In v1beta1, where budgets limit expiration.
fn beta(nodes: &str) -> String {
    format!(
        "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {{name: a}}\n\
         spec: {{disruption: {{expireAfter: 48h, budgets: [{{nodes: {nodes}}}]}}}}\n"
    )
}

/// What is special, the arguments, and the manifest.
type Case = (&'static str, &'static [&'static str], String);

fn cases() -> [Case; 18] {
    [
        (
            "a budget of 0 that is always active stops repair",
            &[][..],
            pool(r#"[{nodes: "0"}]"#),
        ),
        (
            "a budget of 0 in a window stops repair in it",
            &[],
            pool(r#"[{nodes: "0%", schedule: "0 9 * * *", duration: 8h}]"#),
        ),
        (
            "EKS Auto Mode has its own defaults and no gates",
            &[],
            spec(FROZEN, EKS),
        ),
        (
            "a static pool of EKS Auto Mode without room",
            &[],
            spec(
                "replicas: 3, limits: {nodes: 3}, disruption: {budgets: [{nodes: \"0\"}]}",
                EKS,
            ),
        ),
        (
            "a freeze does not stop expiration at the pool's own age",
            &[],
            spec(FREEZE, "expireAfter: 48h"),
        ),
        (
            "nor at the default",
            &[],
            spec(FREEZE, "terminationGracePeriod: ~"),
        ),
        (
            "before 1.0 a budget of 0 stops it",
            &["--karpenter-version=0.37.0"],
            beta("\"0\""),
        ),
        (
            "before 1.0 expired nodes count",
            &["--karpenter-version=0.37.0"],
            beta("10%"),
        ),
        ("a v1beta1 pool whose release is not named", &[], beta("\"0\"")),
        (
            "a budget for some reasons blocks only those",
            &[],
            pool(r#"[{nodes: 50%}, {nodes: "0", reasons: [Drifted]}]"#),
        ),
        (
            "open hours of one reason",
            &[],
            pool(
                r#"[{nodes: 20%, schedule: "0 8 * * *", duration: 10h}, {nodes: 50%, reasons: [Empty, Underutilized]}]"#,
            ),
        ),
        (
            "reasons without a budget",
            &[],
            pool("[{nodes: 50%, reasons: [Drifted]}]"),
        ),
        (
            "hours outside of a freeze",
            &[],
            pool(r#"[{nodes: "0", reasons: [Drifted], schedule: "0 9 * * *", duration: 8h}]"#),
        ),
        ("no budgets", &[], pool("[]")),
        (
            "windows that join",
            &[],
            pool(r#"[{nodes: 50%}, {nodes: "0", schedule: "0 9-16 * * mon-fri", duration: 8h}]"#),
        ),
        (
            "a percentage that is all of a small pool",
            &["--nodes=1"],
            pool("[{nodes: 10%}]"),
        ),
        (
            "a drain with an end",
            &[],
            spec(
                "disruption: {budgets: [{nodes: 10%}]}",
                "terminationGracePeriod: 48h",
            ),
        ),
        (
            "a drain with an end that may outlast a window",
            &[],
            spec(
                r#"disruption: {budgets: [{nodes: 10%}, {nodes: "0", schedule: "0 6 * * *", duration: 20h}]}"#,
                "terminationGracePeriod: 48h",
            ),
        ),
    ]
}

#[test]
fn notes_say_what_budgets_stop_and_what_they_do_not() {
    let (mut all, mut seen) = (String::new(), HashSet::new());
    for (case, arguments, manifest) in cases() {
        let _ = writeln!(all, "== {case}\n");
        let said = said(arguments, &manifest);
        for note in said.split("\n\n").filter(|part| part.starts_with("note: ")) {
            let note = note.trim_end();
            let words = note.split_whitespace().take(8).collect::<Vec<_>>().join(" ");
            let shown = if seen.insert(note.to_owned()) {
                note
            } else {
                &format!("{words} … as above")
            };
            let _ = writeln!(all, "{shown}\n");
        }
    }
    insta::assert_snapshot!("notes", all);
}

#[test]
fn declared_gate_ends_the_conditions_about_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let policy = directory.path().join("policy.yaml");
    let declared = |gates: &str| {
        let text = format!(
            "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\ncluster: {{featureGates: {{{gates}}}}}\n"
        );
        std::fs::write(&policy, text).expect("a policy");
        format!("--policy={}", policy.display())
    };
    let frozen = pool(r#"[{nodes: "0"}]"#);
    assert!(said(&[], &frozen).contains("NodeRepair"));
    let on = said(&[&declared("NodeRepair: true")], &frozen);
    assert!(on.contains("Unhealthy") && !on.contains("NodeRepair"), "{on}");
    let off = said(&[&declared("NodeRepair: false")], &frozen);
    assert!(!off.contains("Unhealthy"), "{off}");
    let full = spec("replicas: 3, limits: {nodes: 3}", "");
    let newest = "--karpenter-version=1.15.0";
    assert!(said(&[newest], &full).contains("TerminateFirstDrift"));
    let first = said(&[&declared("TerminateFirstDrift: true"), newest], &full);
    assert!(!first.contains("limits.nodes"), "{first}");
}

#[test]
fn note_is_left_out_where_it_is_not_true() {
    let window = |schedule: &str, duration: &str| {
        pool(&format!(
            "[{{nodes: 50%}}, {{nodes: \"0\", schedule: \"{schedule}\", duration: {duration}}}]"
        ))
    };
    let named = pool(r#"[{nodes: "0", reasons: [Underutilized, Empty, Drifted]}]"#);
    for (arguments, manifest, words) in [
        (&[][..], named, "NodeRepair"),
        (
            &["--karpenter-version=1.14.3"],
            pool(r#"[{nodes: "0"}]"#),
            "NodeRepair",
        ),
        (&[], window("0 9-16 * * mon-fri", "1h"), "join"),
        (&[], window("0 9 * * *", "8h"), "join"),
        (&[], window("0 9,17 * * *", "8h"), "join"),
        (&[], window("@monthly", "8h"), "join"),
        (&["--nodes=2"], pool("[{nodes: 10%}]"), "rounded up"),
        (&["--nodes=0"], pool("[{nodes: 10%}]"), "rounded up"),
        (&["--nodes=1"], pool("[{nodes: 100%}]"), "rounded up"),
        (&[], spec(FROZEN, EKS), "gate"),
        (
            &["--karpenter-version=0.37.0"],
            beta("\"0\""),
            "does not stop expiration",
        ),
    ] {
        let said = said(arguments, &manifest);
        assert!(!said.contains(words), "{words}: {said}");
    }
}

#[test]
fn planned_budgets_name_reasons_where_there_are_reasons() {
    let plan = |arguments: &[&str]| budgets(&[&["plan", "--freeze=mon"], arguments].concat(), "");
    for (arguments, reasons, speaks_of_repair) in [
        (&[][..], Some("reasons: [Underutilized, Empty, Drifted]\n"), true),
        (&["--reason=drifted"], Some("reasons: [Drifted]\n"), false),
        (&["--karpenter-version=0.37.0"], None, false),
    ] {
        let (_, said, _) = plan(arguments);
        assert_eq!(said.contains("reasons"), reasons.is_some(), "{said}");
        assert!(reasons.is_none_or(|reasons| said.contains(reasons)), "{said}");
        assert_eq!(said.contains("repair"), speaks_of_repair, "{said}");
    }
    let (code, _, complaints) = plan(&["--karpenter-version=0.37.0", "--reason=drifted"]);
    assert_eq!(code, Some(2));
    assert!(complaints.starts_with("error: --reason: "), "{complaints}");
}
