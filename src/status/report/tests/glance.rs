//! All pools at a glance.

use poolgate_core::nodelimit::plan::BudgetsByNamespace;

use super::*;
use crate::cluster::objects::{BudgetObject, PodObject};

/// A drifted NodeClaim of a pool, since some days ago.
fn drifted(name: &str, pool: &str, days: i64) -> KnownClaim {
    let since = now() - SignedDuration::from_hours(24 * days);
    let condition = |kind: &str| json!({"type": kind, "status": "True", "reason": "NodePoolDrifted", "lastTransitionTime": since.to_string()});
    let object = json!({
        "metadata": {"name": name, "uid": format!("u-{name}"), "labels": {"karpenter.sh/nodepool": pool}},
        "status": {"nodeName": format!("node-{name}"), "conditions": [condition("Initialized"), condition("Drifted")]},
    });
    KnownClaim::of(&object).expect("a claim")
}

fn node_of(name: &str, pool: &str) -> KnownNode {
    let object = json!({
        "metadata": {"name": format!("node-{name}"), "labels": {"karpenter.sh/nodepool": pool}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    });
    KnownNode::of(read(object)).expect("a node")
}

/// Three pools: of `batch` three nodes are blocked by one PodDisruptionBudget, `idle` is fine, and `shop` is not ready.
fn cluster() -> (Facts, Kept) {
    let mut facts = well();
    let budgets = json!([{"nodes": "100%"}]);
    let named = |name: &str, conditions: &Value| {
        read(json!({
            "metadata": {"name": name, "uid": name},
            "spec": {"limits": {"cpu": "200"}, "disruption": {"budgets": budgets}, "template": {"spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                "requirements": [],
            }}},
            "status": {"resources": {"cpu": "150"}, "conditions": conditions},
        }))
    };
    let not_ready = json!([{"type": "Ready", "status": "False", "reason": "NodeClassNotReady"}]);
    facts.pools = Ok(vec![
        named("batch", &json!([{"type": "Ready", "status": "True"}])),
        named("idle", &json!([])),
        named("shop", &not_ready),
    ]);
    let claims = [("a", 1), ("b", 9), ("c", 3)];
    facts.claims = Ok(claims.map(|(name, days)| drifted(name, "batch", days)).to_vec());
    facts.nodes = Ok(claims.map(|(name, _)| node_of(name, "batch")).to_vec());
    let pod = |name: &str| -> PodObject {
        read(json!({
            "metadata": {"name": format!("web-{name}"), "namespace": "shop", "labels": {"app": "web"}},
            "spec": {"nodeName": format!("node-{name}")},
        }))
    };
    let pods = claims.map(|(name, _)| (format!("node-{name}").into(), vec![pod(name).on_node()]));
    let budget: BudgetObject = read(json!({
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"currentHealthy": 3, "desiredHealthy": 3},
    }));
    let kept = Kept {
        pods: Ok(pods.into()),
        budgets: Ok([budget.budget()].into_iter().collect()),
        events: Ok(Vec::new()),
    };
    (facts, kept)
}

#[test]
fn pools_are_in_one_table_the_worst_first_and_problems_above_it() {
    let (mut facts, kept) = cluster();
    facts.policy = Ok(Some("kind: Nonsense".into()));
    let report = Report::of(&facts, Some(&kept));
    let text = table::render(&report, WIDE);
    let begins: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with(|letter: char| letter.is_ascii_lowercase()))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(begins[..4], ["poolgate", "shop", "batch", "idle"], "{text}");
    let problems = text.find("\nProblems:\n").expect("problems");
    assert!(problems < text.find("NODEPOOL").expect("a table"), "{text}");
    let row = text
        .lines()
        .find(|line| line.starts_with("batch "))
        .expect("a row");
    let row: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(row[..7], ["batch", "yes", "3", "0", "75%", "3", "3"], "{text}");
    let json = as_json::from_report(&report);
    assert_eq!(json["nodePools"][1]["outdated"], 3);
    assert_eq!(json["nodePools"][0]["ready"], "NodeClassNotReady");
}

#[test]
fn nodes_that_one_cause_keeps_are_one_line_with_the_oldest() {
    let (facts, kept) = cluster();
    let report = Report::of(&facts, Some(&kept));
    let text = table::render(&report, WIDE);
    let line = "\nBlocked:\n  batch: 3 by pod_disruption_budget, the oldest is node-b for 9 d: PodDisruptionBudget shop/web allows 0 evictions \
                (currentHealthy 3, desiredHealthy 3), and covers pod shop/web-b. ";
    assert!(text.contains(line), "{text}");
    let json = as_json::from_report(&report);
    let blocked = &json["nodePools"][1]["blocked"];
    assert_eq!(blocked.as_array().map(Vec::len), Some(1), "{blocked}");
    assert_eq!(
        (&blocked[0]["cause"], &blocked[0]["nodes"], &blocked[0]["oldest"]),
        (&json!("pod_disruption_budget"), &json!(3), &json!("node-b"))
    );
}

#[test]
fn without_pods_it_is_not_known_what_is_blocked() {
    let (facts, mut kept) = cluster();
    kept.pods = Err("forbidden".into());
    let report = Report::of(&facts, Some(&kept));
    assert_eq!(report.unread, ["Pods: forbidden"]);
    let json = as_json::from_report(&report);
    assert_eq!(json["nodePools"][1]["blocked"], json!(null));
}

#[test]
fn nodes_kept_by_pods_with_an_annotation_are_one_line_whatever_the_pods_are_called() {
    let (facts, mut kept) = cluster();
    kept.budgets = Ok(BudgetsByNamespace::default());
    for pods in kept.pods.as_mut().expect("pods").values_mut() {
        for pod in pods {
            let pod = std::sync::Arc::make_mut(&mut pod.pod);
            pod.do_not_disrupt = Some(poolgate_core::nodelimit::plan::DoNotDisrupt::Always);
        }
    }
    let json = as_json::from_report(&Report::of(&facts, Some(&kept)));
    let blocked = &json["nodePools"][1]["blocked"];
    let groups: Vec<_> = blocked
        .as_array()
        .expect("groups")
        .iter()
        .map(|group| &group["nodes"])
        .collect();
    assert_eq!(groups, [3], "{blocked:#}");
}
