//! NodePools and NodeClaims, most of them written by real users, each checked as if it were being created. The table of verdicts
//! is a snapshot, so that a change of any rule shows its effect on them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use poolgate_core::diagnostic::Severity;
use poolgate_core::facts::TargetKarpenter;
use poolgate_core::json::Json;
use poolgate_core::manifest::{Document, Limits, parse};
use poolgate_core::policy::Policy;
use poolgate_core::review::{Request, Subject, review, review_file};
use serde_json::Value;

struct Entry {
    name: String,
    licence: String,
    remark: String,
}

fn index() -> Vec<Entry> {
    let index = std::fs::read_to_string(directory().join("INDEX.tsv")).unwrap();
    let mut files: Vec<Entry> = index
        .lines()
        .skip(1)
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            Entry {
                name: columns[0].into(),
                licence: columns[3].into(),
                remark: columns[5].into(),
            }
        })
        .collect();
    files.sort_by(|one, other| one.name.cmp(&other.name));
    files
}

fn directory() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus"))
}

fn subject_of(object: &Json<'_>) -> Option<Subject> {
    let (group, version) = object.get("apiVersion")?.as_str()?.split_once('/')?;
    Subject::from_kind(group, version, object.get("kind")?.as_str()?)
}

/// A line for each document of the file that is a NodePool or NodeClaim, or cannot be read.
fn verdicts(entry: &Entry) -> Vec<String> {
    let text =
        fs::read_to_string(directory().join(&entry.name)).expect("every file of the corpus is UTF-8 text");
    parse(&text, &Limits::default())
        .filter_map(|document| verdict(&document))
        .collect()
}

fn verdict(document: &Document<'_>) -> Option<String> {
    if let Some(problem) = document.unreadable() {
        return Some(format!("unreadable: {problem}"));
    }
    let object = document.value();
    let request = Request {
        subject: subject_of(object)?,
        object,
        old: None,
        claims: None,
        at: jiff::Timestamp::default(),
    };
    let report = review_file(&request, &Policy::default(), &TargetKarpenter::default()).report;
    let rules = |severity| {
        let mut rules: Vec<_> = report
            .with_severity(severity)
            .map(|finding| finding.rule.as_str())
            .collect();
        rules.dedup();
        rules.join(" ")
    };
    Some(match (rules(Severity::Error), rules(Severity::Warning)) {
        (errors, warnings) if errors.is_empty() && warnings.is_empty() => "fine".into(),
        (errors, warnings) if errors.is_empty() => format!("fine, but {warnings}"),
        (errors, warnings) if warnings.is_empty() => format!("denied: {errors}"),
        (errors, warnings) => format!("denied: {errors}; also {warnings}"),
    })
}

#[test]
fn every_file_is_listed_with_a_licence_that_lets_it_be_passed_on() {
    let files = index();
    for Entry { name, licence, .. } in &files {
        let licence = licence.split(" (").next().unwrap_or_default();
        assert!(
            ["Apache-2.0", "Apache-2.0 or MIT", "MIT", "MIT-0"].contains(&licence),
            "{name}: {licence}"
        );
    }
    let listed: BTreeSet<String> = files.into_iter().map(|file| file.name).collect();
    let there = fs::read_dir(directory())
        .expect("the corpus can be listed")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .filter_map(|path| path.file_name()?.to_str().map(str::to_owned));
    assert_eq!(listed, there.collect());
}

#[test]
fn every_file_gets_its_verdict() {
    let mut table = String::new();
    for file in index() {
        for verdict in verdicts(&file) {
            writeln!(table, "{:48} {verdict}", file.name).unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

/// The severity and rule of each finding in a pool as it is written, and as the webhook gets it.
fn written_and_completed(document: &Document<'_>) -> Option<[Vec<String>; 2]> {
    let object = document.value();
    let Subject::NodePool(version) = subject_of(object)? else {
        return None;
    };
    let (policy, karpenter) = (Policy::default(), TargetKarpenter::default());
    let completed = karpenter.completed(&Value::from(object), version);
    let completed = Json::from(&completed);
    let request = |object| Request {
        subject: Subject::NodePool(version),
        object,
        old: None,
        claims: None,
        at: jiff::Timestamp::default(),
    };
    let reviews = [
        review_file(&request(object), &policy, &karpenter),
        review(&request(&completed), &policy, &karpenter),
    ];
    Some(reviews.map(|review| {
        let found = review.report.into_iter();
        found
            .map(|finding| format!("{} {}", finding.severity, finding.rule))
            .collect()
    }))
}

#[test]
fn every_pool_has_the_same_findings_as_it_is_written_and_as_the_webhook_gets_it() {
    let mut pools = 0;
    for Entry { name, .. } in index() {
        let text = fs::read_to_string(directory().join(&name)).expect("a text");
        for document in parse(&text, &Limits::default()) {
            if let Some([written, completed]) = written_and_completed(&document) {
                assert_eq!(written, completed, "{name}");
                pools += 1;
            }
        }
    }
    assert!(pools > 60, "{pools}");
}

/// Files that are marked WRONG or BROKEN, and why no rule can deny them.
const NOT_CAUGHT: &[(&str, &str)] = &[
    (
        "002-ack-prow-control-plane-720h.yaml",
        "a warning: it is the provider that adds the grace period of 24 hours",
    ),
    (
        "022-aws-doc-troubleshooting-appversion.yaml",
        "without apiVersion it is nobody's object, and kubectl says so",
    ),
    (
        "own-v1alpha5-nodepool.yaml",
        "no API server has NodePools of v1alpha5, so nobody is asked",
    ),
];

#[test]
fn every_file_that_is_marked_wrong_or_broken_is_denied_but_for_a_reason() {
    for file in index() {
        let is_marked = ["WRONG", "BROKEN"]
            .iter()
            .any(|mark| file.remark.starts_with(mark));
        let verdicts = verdicts(&file);
        let is_caught = verdicts
            .iter()
            .any(|verdict| verdict.starts_with("denied") || verdict.starts_with("unreadable"));
        let excused = NOT_CAUGHT.iter().any(|(name, _)| *name == file.name);
        assert_eq!(
            is_marked && !is_caught,
            excused,
            "{}: {}\n{verdicts:?}",
            file.name,
            file.remark
        );
    }
}
