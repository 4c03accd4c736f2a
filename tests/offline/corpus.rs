//! NodePools and NodeClaims written by real users, each checked as if it were being created. The table of verdicts
//! is a snapshot, so that a change of any rule shows its effect on them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use poolgate_core::diagnostic::Severity;
use poolgate_core::json::Json;
use poolgate_core::karpenter::TargetKarpenter;
use poolgate_core::manifest::{Document, Limits, parse};
use poolgate_core::policy::Policy;
use poolgate_core::review::{Request, Subject, review};

/// Files that the index marks WRONG for a reason that a rule of the catalogue covers, with that rule.
const CAUGHT: &[(&str, &str)] = &[
    ("002-ack-prow-control-plane-720h.yaml", "eks-auto-mode-lifetime"),
    ("004-ajay-v1-not-migrated.yaml", "consolidation-policy"),
    ("004-ajay-v1-not-migrated.yaml", "field-required"),
    ("004-ajay-v1-not-migrated.yaml", "field-unknown"),
    ("021-aws-doc-static-with-cpu-limit.yaml", "field-required"),
    ("021-aws-doc-static-with-cpu-limit.yaml", "replicas-limits"),
    ("025-aws-max-node-lifetime-typo.yaml", "field-unknown"),
    ("029-aws-windows-group-with-version.yaml", "node-class-ref"),
    ("036-banking-two-pools-v1beta1.yaml", "consolidate-after-pair"),
    ("036-banking-two-pools-v1beta1.yaml", "expire-after-short"),
    ("036-banking-two-pools-v1beta1.yaml", "label-restricted"),
    ("054-careflow-flow-style.yaml", "field-type"),
    ("054-careflow-flow-style.yaml", "requirement-label-foreign"),
    ("059-cloudstack-default.yaml", "field-unknown"),
    ("059-cloudstack-default.yaml", "requirement-value"),
    ("062-devops-lab-managed-label.yaml", "label-restricted"),
    ("063-devyoushin-gpu-taint-operator.yaml", "field-unknown"),
    ("065-devyoushin-ondemand-kubelet.yaml", "field-unknown"),
    ("069-doe-doc-no-operator-v1beta1.yaml", "field-required"),
    ("069-doe-doc-no-operator-v1beta1.yaml", "requirement-operator"),
    ("070-doe-doc-ref-name-only.yaml", "field-required"),
    ("073-doe-local-provisioner-kubelet.yaml", "field-unknown"),
    ("079-forge-blockdevice-in-nodepool.yaml", "field-unknown"),
    ("079-forge-blockdevice-in-nodepool.yaml", "requirement-twice"),
    ("090-ibm-block-device-apiversion-ref.yaml", "field-required"),
    ("091-ibm-doc-flexible-list.yaml", "field-required"),
    ("092-ibm-doc-zone-ref-name-only.yaml", "field-required"),
    ("093-ibm-image-selector.yaml", "field-unknown"),
    ("095-ibm-userdata-apigroup.yaml", "field-unknown"),
    ("100-karpenter-ci-v1-mixed-api.yaml", "consolidation-policy"),
    ("100-karpenter-ci-v1-mixed-api.yaml", "field-required"),
    (
        "105-karpenter-design-by-reason-int.yaml",
        "budget-schedule-duration",
    ),
    ("105-karpenter-design-by-reason-int.yaml", "field-type"),
    ("106-karpenter-design-double-pipe.yaml", "consolidate-after"),
    ("106-karpenter-design-double-pipe.yaml", "consolidation-policy"),
    ("106-karpenter-design-double-pipe.yaml", "expire-after"),
    ("106-karpenter-design-double-pipe.yaml", "field-type"),
    ("109-karpenter-design-lowercase-reasons.yaml", "expire-after"),
    ("109-karpenter-design-lowercase-reasons.yaml", "field-type"),
    ("116-kontrol-no-group.yaml", "field-required"),
    ("131-phoenix-liveview-half-migrated.yaml", "field-unknown"),
    (
        "133-popcorn-daily-no-duration-ko.yaml",
        "budget-schedule-duration",
    ),
    (
        "137-redemption-schedule-no-duration.yaml",
        "budget-schedule-duration",
    ),
    (
        "137-redemption-schedule-no-duration.yaml",
        "consolidate-after-pair",
    ),
    (
        "138-robot-kubernetes-version-gt.yaml",
        "requirement-key-restricted",
    ),
    ("138-robot-kubernetes-version-gt.yaml", "requirement-number"),
    ("147-team-a-expire-or-never.yaml", "expire-after"),
    ("147-team-a-expire-or-never.yaml", "requirement-no-value"),
    ("150-todo-app-v1beta1-consolidate.yaml", "consolidate-after-pair"),
];

struct Entry {
    name: String,
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
    let report = review(&request, &Policy::default(), &TargetKarpenter::default()).report;
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
fn every_file_gets_its_verdict() {
    let mut table = String::new();
    for file in index() {
        for verdict in verdicts(&file) {
            writeln!(table, "{:48} {verdict}", file.name).unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn wrong_files_that_a_rule_covers_are_caught() {
    let files = index();
    for (name, rule) in CAUGHT {
        let file = files.iter().find(|file| file.name == *name).expect(name);
        assert!(file.remark.contains("WRONG"), "{name} is not marked WRONG");
        assert!(
            verdicts(file).iter().any(|verdict| verdict.contains(rule)),
            "{name}: {:?}",
            verdicts(file)
        );
    }
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
        "145-sre-gitops-v1alpha5-nodepool.yaml",
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
