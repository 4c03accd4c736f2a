//! The documentation lists exactly the metrics that exist.

use std::collections::BTreeSet;

use regex::Regex;

use super::no_cluster::{kubeconfig, refusing};
use crate::support::poolgate::Poolgate;
use crate::support::running::Running;

const DOCUMENT: &str = include_str!("../../docs/reference/metrics.md");
const RUNBOOK: &str = include_str!("../../docs/RUNBOOK.md");
const DASHBOARD: &str = include_str!("../../manifests/helm/files/dashboard.json");
const ALERTS: &str = include_str!("../../manifests/helm/files/alerts.yaml");

/// The names in the tables of the documentation, without labels.
fn documented() -> BTreeSet<&'static str> {
    let rows = DOCUMENT
        .lines()
        .filter_map(|line| line.strip_prefix("| `poolgate_"));
    let ends = |character| character == '{' || character == '`';
    rows.map(|row| row.split(ends).next().unwrap_or_default())
        .collect()
}

/// The names of all metric families of a process, including those with nothing counted yet.
fn registered(running: &Running) -> BTreeSet<String> {
    let (status, text) = running.probe("/metrics");
    assert_eq!(status, 200);
    let families = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE poolgate_"));
    families
        .map(|family| {
            let (name, kind) = family.split_once(' ').expect("a name and a type");
            let suffix = match kind {
                "counter" => "_total",
                "info" => "_info",
                _ => "",
            };
            format!("{name}{suffix}")
        })
        .collect()
}

#[test]
fn every_metric_is_documented_and_every_documented_metric_is_there() {
    let cluster = kubeconfig(refusing());
    let cluster = ["--kubeconfig", cluster.path().to_str().expect("a path")];
    let serve = registered(&Poolgate::serve());
    let gate = registered(&Poolgate::start_gate(
        &[&["--self-signed"], &cluster[..]].concat(),
    ));
    let reconcile = registered(&Running::start(
        Running::directory(),
        &[&["reconcile"], &cluster[..]].concat(),
    ));
    let certificates = registered(&Running::start(
        Running::directory(),
        &[&["certificates"], &cluster[..]].concat(),
    ));
    for (families, one) in [
        (&certificates, "certificates_errors_total"),
        (&serve, "webhook_findings_total"),
        (&gate, "gate_errors_total"),
        (&reconcile, "nodeclaims_terminated_total"),
    ] {
        assert!(
            families.contains(one),
            "{one} is there before it counts: {families:?}"
        );
    }
    let all: BTreeSet<String> = [serve, gate, reconcile, certificates]
        .into_iter()
        .flatten()
        .collect();
    let all: BTreeSet<&str> = all.iter().map(String::as_str).collect();
    let missing = |from: &BTreeSet<&str>, of: &BTreeSet<&str>| -> Vec<String> {
        of.difference(from)
            .map(|name| format!("poolgate_{name}"))
            .collect()
    };
    assert_eq!(
        missing(&documented(), &all),
        [""; 0],
        "not in docs/reference/metrics.md"
    );
    assert_eq!(
        missing(&all, &documented()),
        [""; 0],
        "in docs/reference/metrics.md and nowhere else"
    );
}

/// The texts under a key of the alerts, in their order.
fn alerts(key: &str) -> Vec<&'static str> {
    let lines = ALERTS.lines();
    lines
        .filter_map(|line| {
            line.trim_start_matches(['-', ' '])
                .strip_prefix(key)?
                .strip_prefix(": ")
        })
        .collect()
}

#[test]
fn alerts_and_dashboard_ask_for_metrics_that_are_there() {
    let metric = Regex::new("poolgate_([a-z_]+)").expect("a pattern");
    let questions = DASHBOARD.lines().filter(|line| line.contains("\"expr\": "));
    let questions: Vec<&str> = alerts("expr").into_iter().chain(questions).collect();
    assert!(questions.len() > 30, "{questions:?}");
    for question in questions {
        for name in metric.captures_iter(question).map(|found| found[1].to_owned()) {
            let name = name.strip_suffix("_bucket").unwrap_or(&name);
            assert!(documented().contains(name), "{question}: {name}");
        }
    }
}

#[test]
fn runbook_has_a_section_for_each_alert_and_no_other() {
    let headings = RUNBOOK.lines().filter_map(|line| line.strip_prefix("### "));
    let sections: BTreeSet<&str> = headings.collect();
    let named = alerts("alert");
    let urls = alerts("runbook_url");
    let expected: Vec<_> = named
        .iter()
        .map(|name| format!("docs/RUNBOOK.md#{}", name.to_lowercase()))
        .collect();
    assert_eq!(urls, expected);
    let named: BTreeSet<&str> = named.into_iter().collect();
    assert!(named.len() > 10, "{named:?}");
    assert_eq!(sections, named);
}
