//! What `poolgate budgets --cluster` says about a pool is what Karpenter does.

use regex::Regex;
use serde_json::{Value, json};

use super::guarded::Guarded;
use crate::support::karpenter::look::claim_names;
use crate::support::karpenter::objects::{disruption_budget, node_pool, one_pod_a_node};
use crate::support::readme::block_of;
use crate::support::shell::shell;

const PAGE: &str = include_str!("../../../docs/budgets.md");

/// What the command prints about the cluster.
fn budgets(guarded: &Guarded, arguments: &str) -> String {
    let directory = tempfile::tempdir().expect("a directory");
    let line = format!("poolgate budgets --cluster {arguments}");
    let outcome = shell(
        directory.path(),
        Some(guarded.cluster.plane().kubeconfig()),
        &line,
    );
    assert_eq!(outcome.stderr, "");
    outcome.success()
}

fn report(guarded: &Guarded) -> Value {
    let report: Value = serde_json::from_str(&budgets(guarded, "--output=json")).expect("JSON");
    report["pools"][0].clone()
}

/// Whether Karpenter's own numbers for a reason are those of the report.
fn agrees(guarded: &Guarded, report: &Value, reason: &str) -> bool {
    let label = reason.to_lowercase();
    let metric = |name: &str| {
        let name = format!("karpenter_nodepools_{name}{{nodepool=\"busy\",reason=\"{label}\"}}");
        guarded.cluster.karpenter_metric(&name)
    };
    let answer = &report["reasons"][reason];
    let (nodes, consumed) = (answer["nodes"].as_f64(), answer["consumed"].as_f64());
    let theirs = (metric("allowed_disruptions"), metric("nodes_consuming_budgets"));
    println!(
        "{reason}, {} nodes: {:?}, Karpenter's {theirs:?}",
        report["nodes"],
        (nodes, consumed)
    );
    nodes.is_some() && (nodes, consumed) == theirs
}

#[test]
fn what_budgets_allow_and_what_is_consumed_is_what_karpenter_counts() {
    let guarded = Guarded::unguarded();
    let budgets_of = json!([{"nodes": "50%"}, {"nodes": "0", "reasons": ["Drifted"]}]);
    let spec = json!({"disruption": {"budgets": budgets_of}});
    guarded.cluster.create_pool(&node_pool("busy", &spec));
    guarded.cluster.deploy(&one_pod_a_node("stuck", "busy", 1));
    guarded.wait_until_running("stuck", 1);
    let stuck = claim_names(&guarded.cluster, "busy")
        .pop_first()
        .expect("a NodeClaim");
    // Its pod must not be moved, so its node stays when it is deleted: it is on its way out.
    guarded.cluster.create_in_default(
        "policy/v1",
        "poddisruptionbudgets",
        &disruption_budget("stuck", 0),
    );
    guarded.cluster.deploy(&one_pod_a_node("free", "busy", 2));
    guarded.wait_until_running("free", 2);

    guarded.cluster.drift("busy", "second");
    let agree = |consumed: u32| {
        let report = report(&guarded);
        let is_so = report["reasons"]["Drifted"]["consumed"] == consumed;
        let reasons = ["Drifted", "Underutilized"];
        (is_so && reasons.iter().all(|reason| agrees(&guarded, &report, reason))).then_some(report)
    };
    guarded.wait_for("Karpenter to count as poolgate does", |_| agree(0));
    let reported = |what: &str| {
        guarded.wait_for(what, |_| {
            let printed = budgets(&guarded, "");
            printed.contains(what).then_some(printed)
        })
    };
    // Of a node that is being deleted Karpenter no longer reports this.
    reported("Pdb prevents pod evictions");
    guarded.cluster.delete_claim(&stuck);
    guarded.wait_for("a deleted node to consume the budgets", |_| agree(1));
    let printed = reported("reason Drifted due to blocking budget");
    let times = Regex::new("(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [0-9:. -]+ UTC").expect("a pattern");
    let printed = times.replace_all(&printed, "TIME").into_owned();
    let page = block_of(PAGE, "console", "$ poolgate budgets --cluster\n");
    let page = times.replace_all(page, "TIME").into_owned();
    // Karpenter also reports other things about single nodes, as they happen.
    for paragraph in page
        .split("\n\n")
        .map(|paragraph| paragraph.trim_start_matches("$ poolgate budgets --cluster\n"))
    {
        assert!(
            printed.contains(paragraph.trim_end()),
            "{paragraph}\n\nis not in\n{printed}"
        );
    }
}
