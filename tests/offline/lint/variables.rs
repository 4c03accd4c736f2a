//! Variables that another program fills in, such as Flux and envsubst.

use std::fs;

use super::{concise, lint_in};
use crate::support::files::directory;
use crate::support::nodepool::SOUND;
use crate::support::program;

/// A pool for Flux: every kind of value comes from a variable.
const FLUX: &str = "\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: ${cluster}-general
  annotations: {\"${domain}/owner\": \"${owner}\"}
spec:
  weight: ${weight}
  disruption:
    consolidationPolicy: ${policy}
    consolidateAfter: ${after}
    budgets:
    - nodes: ${nodes}
      schedule: ${schedule}
      duration: 8h
  limits:
    cpu: ${cpu}
  template:
    spec:
      expireAfter: ${expire}
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: \"${class}\"}
      requirements:
      - key: kubernetes.io/arch
        operator: ${operator}
        values: ${arch}
      - key: topology.kubernetes.io/zone
        operator: In
        values: [\"${zone}\"]
      taints:
      - key: ${key}
        effect: ${effect}
";

#[test]
fn variables_are_one_note_and_no_error() {
    let outcome = concise(FLUX);
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(lines.len(), 1, "{outcome:?}");
    assert!(
        lines[0].starts_with("pool.yaml:4:9: note[manifest-variable]: NodePool \"${")
            && lines[0].contains("\": values that depend on "),
        "{outcome:?}"
    );
    assert!(lines[0].contains("and 13 more are not checked"), "{outcome:?}");
}

#[test]
fn a_variable_that_makes_the_text_no_yaml_is_one_note_until_it_is_filled_in() {
    let zones = |values: &str| {
        let line = format!(
            "      - key: topology.kubernetes.io/zone\n        operator: In\n        values: {values}\n"
        );
        SOUND.to_owned() + &line
    };
    for values in [
        "[${ZONES}]",
        "[${ZONE}a, eu-west-1b]",
        "[$ZONES]",
        "[@@ZONES@@]",
        "[\"$ZONE\"]",
        "$(ZONES)",
    ] {
        let outcome = concise(&zones(values));
        assert_eq!(outcome.status.code(), Some(0), "{values}: {outcome:?}");
        assert_eq!(outcome.stdout.lines().count(), 1, "{values}: {outcome:?}");
        assert!(
            outcome.stdout.contains("note[manifest-variable]"),
            "{values}: {outcome:?}"
        );
    }
    let wrong = concise(&zones("[${ZONES:=eu-west-1a, eu-west-1}]"));
    assert!(
        wrong
            .stdout
            .starts_with("pool.yaml:21:18: warning[requirement-value-slip]"),
        "{wrong:?}"
    );
    let directory = directory(&[
        ("a.yaml", &zones("[${ZONES}]")),
        ("b.yaml", &SOUND.replace("cpu: \"100\"", "cpu: $CPU")),
        ("values.env", "ZONES=eu-west-1a,eu-west-1b\nCPU=-5\n"),
    ]);
    let arguments = ["--output=concise", "--envsubst=values.env", "a.yaml", "b.yaml"];
    let filled = lint_in(directory.path(), &arguments, "");
    assert!(
        filled.stdout.starts_with("b.yaml:12:10: error[limit-amount]"),
        "{filled:?}"
    );
    assert_eq!(filled.stdout.lines().count(), 1, "{filled:?}");
    let written = program::run_in(directory.path(), &["default", "--diff", "a.yaml"], "");
    let left = "a.yaml:1:1: not changed: it contains variables that another program fills in";
    assert!(written.stderr.contains(left), "{written:?}");
}

#[test]
fn placeholders_of_other_programs_are_one_note_and_no_error() {
    for (open, close) in [("{{ .", " }}"), ("__", "__"), ("@@", "@@"), ("%", "%")] {
        let mut text = String::new();
        for (number, part) in FLUX.replace('"', "").split("${").enumerate() {
            let (name, rest) = part.split_once('}').unwrap_or(("", part));
            if number > 0 {
                text.extend(["\"", open, &name.to_ascii_uppercase(), close, "\""]);
            }
            text += rest;
        }
        let text = text
            .replace("\"-general", "-general\"")
            .replace("/owner:", "/owner\":")
            .replace("\"/owner", "/owner");
        let outcome = concise(&text);
        assert_eq!(outcome.status.code(), Some(0), "{text}{outcome:?}");
        assert_eq!(outcome.stdout.lines().count(), 1, "{text}{outcome:?}");
        assert!(outcome.stdout.contains("note[manifest-variable]"), "{outcome:?}");
        assert!(outcome.stdout.contains("values that depend on "), "{outcome:?}");
    }
}

#[test]
fn a_template_is_named_once_and_nothing_in_it_is_checked() {
    let directives = |open: &str, close: &str| {
        let weight = format!("  {open} if a {close}\n  weight: 999\n  {open} else {close}\n  weight: 1000\n");
        SOUND.replace(
            "spec:\n  disruption",
            &format!("spec:\n{weight}  {open} end {close}\n  disruption"),
        )
    };
    for (text, rule) in [
        (directives("{{", "}}").repeat(2), "manifest-template"),
        (directives("#{{", "}}"), "file-unreadable"),
        (directives("{%", "%}"), "file-unreadable"),
    ] {
        let outcome = concise(&text);
        let lines: Vec<&str> = outcome.stdout.lines().collect();
        assert_eq!(lines.len(), 1, "{text}{outcome:?}");
        assert!(lines[0].contains(&format!("error[{rule}]")), "{outcome:?}");
    }
}

#[test]
fn what_does_not_rest_on_a_variable_is_checked() {
    let text = FLUX
        .replace("duration: 8h", "duration: 1d")
        .replace("weight: ${weight}", "weigth: ${weight}");
    let outcome = concise(&text);
    let rules: Vec<&str> = outcome
        .stdout
        .lines()
        .filter_map(|line| Some(line.split_once('[')?.1.split_once(']')?.0))
        .collect();
    assert_eq!(
        rules,
        ["manifest-variable", "field-unknown", "budget-duration"],
        "{outcome:?}"
    );
}

#[test]
fn defaults_are_filled_in_and_checked_where_they_stand() {
    let right = SOUND
        .replace("\"100\"", "${cpu:=100}")
        .replace("consolidateAfter: 1m", "consolidateAfter: \"${after:-5m}\"")
        .replace("values: [amd64]}", "values: [\"${arch:=amd64}\"]}");
    let outcome = concise(&right);
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    assert!(!outcome.stdout.contains("manifest-variable"), "{outcome:?}");
    let wrong = SOUND
        .replace("nodes: 10%", "nodes: ${nodes:=5}")
        .replace("consolidateAfter: 1m", "consolidateAfter: ${after:=1d} # days");
    let outcome = concise(&wrong);
    let places: Vec<&str> = outcome
        .stdout
        .lines()
        .filter_map(|line| line.split_once(": NodePool").map(|(place, _)| place))
        .collect();
    assert_eq!(
        places,
        [
            "pool.yaml:8:23: error[consolidate-after]",
            "pool.yaml:10:14: error[field-type]"
        ],
        "{outcome:?}"
    );
}

#[test]
fn files_say_what_variables_stand_for_and_the_last_one_counts() {
    let text = SOUND
        .replace("100Gi", "${memory}")
        .replace("values: [amd64]}", "values: [a]}")
        .replace(
            "      - {key: kubernetes.io/arch, operator: In, values: [a]}\n",
            "      - key: kubernetes.io/arch\n        operator: In\n        values: ${arches}\n",
        );
    let directory = directory(&[
        ("a.yaml", &text),
        (
            "base.env",
            "# all clusters\nmemory=-1Gi\narches=[\"amd64\", \"arm64\"]\n",
        ),
        ("prod.env", "export memory='100Gi'\n"),
        ("wrong.env", "memory\n"),
    ]);
    let lint = |files: &[&str]| {
        let flags = files.iter().flat_map(|file| ["--envsubst", file]);
        let arguments: Vec<&str> = ["--output", "concise"].into_iter().chain(flags).collect();
        lint_in(directory.path(), &[&arguments[..], &["a.yaml"]].concat(), "")
    };
    let base = lint(&["base.env"]);
    assert!(
        base.stdout.starts_with("a.yaml:13:13: error[limit-amount]: "),
        "{base:?}"
    );
    assert_eq!(base.stdout.lines().count(), 1, "{base:?}");
    let both = lint(&["base.env", "prod.env"]);
    assert_eq!(
        (both.status.code(), both.stdout.as_str()),
        (Some(0), ""),
        "{both:?}"
    );
    let prod = lint(&["prod.env"]);
    assert!(
        prod.stdout
            .contains("values that depend on \"${arches}\" are not checked"),
        "{prod:?}"
    );
    for (file, reported) in [
        ("wrong.env", "wrong.env: line 1: write NAME=VALUE"),
        ("no.env", "no.env cannot be read"),
    ] {
        let outcome = lint(&[file]);
        assert_eq!(outcome.status.code(), Some(2), "{outcome:?}");
        assert!(outcome.stderr.contains(reported), "{outcome:?}");
    }
}

#[test]
fn nothing_writes_where_a_variable_stands() {
    let text = SOUND
        .replace("consolidateAfter: 1m", "consolidateAfter: ${after:=1d}")
        .replace("nodes: 10%", "nodes: ${nodes:=5}");
    let directory = directory(&[("a.yaml", &text)]);
    let outcome = lint_in(directory.path(), &["--fix", "a.yaml"], "");
    let file = || fs::read_to_string(directory.path().join("a.yaml")).expect("a file");
    assert_eq!(file(), text, "{outcome:?}");
    let reported = "a.yaml:8:23: not fixed: another program fills in a variable here";
    assert!(outcome.stderr.contains(reported), "{outcome:?}");
    let beside = text.replace("duration: 8h", "").replace("100Gi", "${memory}");
    let beside = beside.replace("${after:=1d}", "1d");
    fs::write(directory.path().join("a.yaml"), &beside).expect("a file");
    lint_in(directory.path(), &["--fix", "a.yaml"], "");
    let fixed = beside.replace("consolidateAfter: 1d", "consolidateAfter: 24h");
    assert_eq!(file(), fixed, "what is beside is fixed");
    let bare = fixed.replace("    consolidationPolicy: WhenEmptyOrUnderutilized\n", "");
    fs::write(directory.path().join("a.yaml"), &bare).expect("a file");
    let outcome = program::run_in(directory.path(), &["default", "--write", "a.yaml"], "");
    assert_eq!(file(), bare);
    let reported = "a.yaml:1:1: not changed: it contains variables that another program fills in";
    assert!(outcome.stderr.contains(reported), "{outcome:?}");
}
