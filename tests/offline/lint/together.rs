//! `--together`: what shows only across objects, if the user says that all of them are given.

use std::fs;

use serde_json::Value;

use super::formats::{OURS, SARIF, assert_valid};
use super::lint_in;
use crate::support::files::directory;
use crate::support::nodepool::SOUND;
use crate::support::process::Outcome;
use crate::support::program::root;

/// The rules that no review applies.
const ACROSS: &str =
    "nodepool-repeated,node-class-missing,nodepool-overlap,nodepools-frozen,capacity-reservations";

const CLASS: &str = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata:\n  name: default\n";

fn pool(name: &str) -> String {
    SOUND.replace("name: general", &format!("name: {name}"))
}

/// The findings of the rules across objects in these files, a line for each finding.
fn reported(files: &[(&str, &str)], arguments: &[&str]) -> Outcome {
    let directory = directory(files);
    let ours = ["--together", "--output=concise", "--select", ACROSS, "."];
    lint_in(directory.path(), &[&ours[..], arguments].concat(), "")
}

fn rules(outcome: &Outcome) -> Vec<String> {
    let rule = |line: &str| Some(line.split_once('[')?.1.split_once(']')?.0.to_owned());
    outcome.stdout.lines().filter_map(rule).collect()
}

#[test]
fn a_tree_of_files_has_no_finding_across_them_unless_they_are_said_to_be_all() {
    let examples = "tests/data/together";
    let without = lint_in(root(), &["--output=concise", "--select", ACROSS, examples], "");
    assert_eq!(without.stdout, "", "{without:?}");
    let with = lint_in(
        root(),
        &["--together", "--output=concise", "--select", ACROSS, examples],
        "",
    );
    assert!(!with.stdout.is_empty(), "{with:?}");
}

#[test]
fn a_stream_is_read_once_and_checked_as_a_whole() {
    let list = |items: [&str; 2]| {
        let items = items.map(|item| format!("- {}\n", item.trim_end().replace('\n', "\n  ")));
        format!("apiVersion: v1\nkind: List\nitems:\n{}", items.concat())
    };
    let general = pool("general");
    let stream = format!(
        "{}---\n{CLASS}---\n{}",
        list([&general, &general]),
        SOUND.replace("name: default", "name: other")
    );
    let directory = directory(&[]);
    let outcome = lint_in(
        directory.path(),
        &["--together", "--output=concise", "--select", ACROSS, "-"],
        &stream,
    );
    assert_eq!(
        rules(&outcome),
        ["nodepool-repeated", "nodepool-repeated", "node-class-missing"],
        "{outcome:?}"
    );
    let github = ["--together", "--output=github", "--select", ACROSS, "-"];
    let printed = lint_in(directory.path(), &github, &stream).stdout;
    let second = "NodePool general: items[1].metadata.name: another NodePool already has this name";
    assert!(printed.contains(second), "{printed}");
    assert!(
        printed.contains("See NodePool general at <stdin>:7:11"),
        "{printed}"
    );
    assert_eq!(outcome.status.code(), Some(1));

    let terraform = "resource \"kubectl_manifest\" \"pool\" {\n  apiVersion = \"karpenter.sh/v1\"\n}\n";
    let foreign = lint_in(
        directory.path(),
        &["--together", "--stdin-filename=pool.tf", "-"],
        terraform,
    );
    assert_eq!(foreign.status.code(), Some(2), "{foreign:?}");
    assert!(foreign.stdout.contains("pool.tf is HCL"), "{foreign:?}");
}

#[test]
fn every_format_names_the_place_of_the_other_object() {
    let directory = directory(&[
        ("a.yaml", &pool("same")),
        ("b.yaml", &pool("same")),
        ("c.yaml", CLASS),
    ]);
    let printed = |format: &str| {
        let outcome = lint_in(directory.path(), &["--together", "--output", format, "."], "");
        assert_eq!(outcome.status.code(), Some(1), "{format}: {outcome:?}");
        outcome.stdout
    };
    for format in ["human", "github", "gitlab", "junit", "sarif"] {
        let printed = printed(format);
        assert!(
            printed.contains("ee NodePool same at a.yaml:4:9"),
            "{format}: {printed}"
        );
    }
    let json: Value = serde_json::from_str(&printed("json")).expect("JSON");
    assert_valid(OURS, &json);
    let other = &json["results"][0]["related"][0];
    let expected = serde_json::json!({
        "object": {"kind": "NodePool", "name": "same"}, "file": "a.yaml", "line": 4, "column": 9,
    });
    assert_eq!(*other, expected, "{json}");
    let sarif: Value = serde_json::from_str(&printed("sarif")).expect("JSON");
    assert_valid(SARIF, &sarif);
    let result = &sarif["runs"][0]["results"][0];
    let uri = |location: &Value| location["physicalLocation"]["artifactLocation"]["uri"].clone();
    assert_eq!(uri(&result["locations"][0]), "b.yaml");
    assert_eq!(uri(&result["relatedLocations"][0]), "a.yaml");
}

#[test]
fn comments_policies_and_counts_are_about_these_findings_too() {
    let same = pool("same");
    let files = [
        ("a.yaml", same.as_str()),
        ("b.yaml", same.as_str()),
        ("c.yaml", CLASS),
    ];
    assert_eq!(rules(&reported(&files, &[])), ["nodepool-repeated"]);
    assert_eq!(rules(&reported(&files, &["--ignore=nodepool-repeated"])), [""; 0]);

    let comment = "name: same # poolgate: ignore nodepool-repeated -- the last one is meant";
    let ignored = same.replace("name: same", comment);
    let outcome = reported(&[files[0], ("b.yaml", &ignored), files[2]], &[]);
    assert_eq!(outcome.stdout, "", "{outcome:?}");
    assert!(
        outcome.stderr.contains("1 finding ignored by comments"),
        "{outcome:?}"
    );

    let policy = |level: &str| {
        format!("apiVersion: poolgate.dev/v1alpha1\nkind: Policy\nrules: {{nodepool-repeated: {level}}}\n")
    };
    let (off, warning) = (policy("\"off\""), policy("warning"));
    let with = |policy: &str| reported(&[files[0], files[1], files[2], (".poolgate.yaml", policy)], &[]);
    assert_eq!(with(&off).stdout, "");
    let warned = with(&warning);
    assert!(warned.stdout.contains("warning[nodepool-repeated]"), "{warned:?}");
    assert_eq!(warned.status.code(), Some(0));

    let directory = directory(&files);
    let run = |arguments: &[&str]| lint_in(directory.path(), &[&["--together", "."], arguments].concat(), "");
    let counted = run(&["--statistics"]);
    assert!(
        counted
            .stdout
            .starts_with("1  nodepool-repeated  No two NodePools"),
        "{counted:?}"
    );

    fs::write(directory.path().join("b.yaml"), same.replace("1m", "1d")).expect("a file");
    let fixed = run(&["--fix"]);
    assert!(fixed.stderr.contains("1 place fixed"), "{fixed:?}");
    assert_eq!(rules(&fixed), ["nodepool-repeated"], "{fixed:?}");
}

#[test]
fn what_could_not_be_read_may_hold_what_is_missing() {
    let lost = SOUND.replace("name: default", "name: lost");
    let files = [("a.yaml", lost.as_str()), ("c.yaml", CLASS)];
    assert_eq!(rules(&reported(&files, &[])), ["node-class-missing"]);
    let open = CLASS.replace("name: default", "name: ${CLASS}");
    let sops = format!("{CLASS}sops:\n  mac: ENC[x]\n");
    let template = "{{- if .Values.class }}\na: 1\n{{- end }}\n";
    for text in [open.as_str(), &sops, template, "a: [\n"] {
        let more = reported(&[files[0], files[1], ("more.yaml", text)], &[]);
        assert!(!more.stdout.contains("node-class-missing"), "{text}: {more:?}");
    }
    let named = reported(&[("a.yaml", &lost.replace("lost", "${CLASS}")), files[1]], &[]);
    assert!(!named.stdout.contains("node-class-missing"), "{named:?}");
}

#[test]
fn manifests_of_real_people_have_no_finding_across_them_but_classes_kept_elsewhere() {
    let files = fs::read_dir(root().join("tests/corpus")).expect("the corpus");
    let paths = files.map(|file| file.expect("an entry").path());
    let mut reported = Vec::new();
    for path in paths.filter(|path| path.extension().is_some_and(|end| end == "yaml")) {
        let path = path.to_str().expect("UTF-8");
        let arguments = ["--together", "--output=concise", "--select", ACROSS, path];
        let outcome = lint_in(root(), &arguments, "");
        let lines = outcome.stdout.lines().map(str::to_owned);
        reported
            .extend(lines.filter(|line| ACROSS.split(',').any(|rule| line.contains(&format!("[{rule}]")))));
    }
    let elsewhere = |line: &&String| line.contains("note[node-class-missing]");
    assert!(reported.iter().filter(elsewhere).count() > 20, "{reported:?}");
    reported.retain(|line| !elsewhere(&line));
    assert_eq!(reported, [""; 0]);
}
