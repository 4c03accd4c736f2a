//! Why a node stays: what `poolgate why` says beside real Karpenter, which keeps it for that reason.

use serde_json::{Value, json};

use super::guarded::Guarded;
use crate::support::karpenter::NodeRepair;
use crate::support::karpenter::look::claim_names;
use crate::support::karpenter::objects::{disruption_budget, node_pool, one_pod_a_node};
use crate::support::process::Outcome;
use crate::support::program;
use crate::support::readme::block_of;
use crate::support::recording::name;
use crate::support::schemas::assert_described;

const PAGE: &str = include_str!("../../../docs/why.md");

const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";

/// What the command says about nodes.
fn why(guarded: &Guarded, arguments: &[&str]) -> Outcome {
    let kubeconfig = guarded.cluster.plane().kubeconfig().to_str().expect("a path");
    program::run(&[&["why"], arguments, &["--kubeconfig", kubeconfig]].concat(), "")
}

/// What it says about the one node of a pool; `None` if an API server without a processor has kept it from reading all.
fn node_of(guarded: &Guarded, pool: &str) -> Option<Value> {
    let node = name(&guarded.cluster.nodes(pool)[0]).to_owned();
    let said = why(guarded, &["node", &node, "--output=json"]);
    let report: Value =
        serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    assert_described(&report);
    if report["unread"] != json!([]) {
        println!("{pool}: not read: {}", report["unread"]);
        return None;
    }
    Some(report["nodes"][0].clone())
}

/// This field of each object in a list.
fn words<'w>(why: &'w Value, list: &str, field: &str) -> Vec<&'w str> {
    let all = why[list].as_array().expect("a list").iter();
    all.map(|one| one[field].as_str().expect("a word")).collect()
}

/// Waits until this is said of the node of a pool, and Karpenter says this of it or of its pool.
#[track_caller]
fn expect(guarded: &Guarded, pool: &str, wanted: &[&str], causes: &[&str], event: &str) -> Value {
    let mut last = String::new();
    guarded.wait_for(&format!("what is said of {pool}"), |_| {
        let why = node_of(guarded, pool)?;
        let has_event = event.is_empty() || why["events"].to_string().contains(event);
        let is_so = words(&why, "wanted", "reason") == wanted && words(&why, "causes", "cause") == causes;
        // What is said instead, for a test that fails.
        let said = format!("{why:#}");
        if said != last {
            println!("{pool}: {said}");
            last = said;
        }
        (is_so && has_event).then_some(why)
    })
}

const UNBOUNDED: &str = "noTerminationGracePeriod";

/// What is said of the node of each pool: why it should go, what keeps it, and what Karpenter's events say of that.
const EXPECTED: [(&str, &[&str], &[&str], &str); 12] = [
    (
        "pinned",
        &["Drifted"],
        &["podDoNotDisrupt", UNBOUNDED],
        "has \\\"karpenter.sh/do-not-disrupt\\\" annotation",
    ),
    ("timed", &["Drifted"], &["podDoNotDisrupt", UNBOUNDED], ""),
    (
        "guarded",
        &["Drifted"],
        &["podDisruptionBudget", UNBOUNDED],
        "Pdb prevents pod evictions",
    ),
    (
        "draining",
        &["Deleted"],
        &["podDisruptionBudget", UNBOUNDED],
        "FailedDraining",
    ),
    (
        "closed",
        &["Drifted"],
        &["budgetClosed"],
        "for disruption reason Drifted due to blocking budget",
    ),
    ("full", &["Drifted"], &["heldByPoolgate"], "do-not-disrupt"),
    ("fresh", &["Empty"], &["consolidateAfter"], ""),
    (
        "never",
        &["Empty"],
        &["consolidationDisabled"],
        "has consolidation disabled",
    ),
    (
        "occupied",
        &[],
        &["whenEmpty"],
        "has consolidation policy WhenEmpty",
    ),
    (
        "marked",
        &["Drifted"],
        &["nodeDoNotDisrupt"],
        "Disruption is blocked through",
    ),
    (
        "broken",
        &["Unhealthy"],
        &["nodeDoNotRepair"],
        "epair is blocked through",
    ),
    ("classless", &["Drifted"], &["nodeClassNotReady"], ""),
];

/// Makes the pools, each with a node on which a pod runs.
fn create(guarded: &Guarded) {
    let none = json!({});
    for (name, ..) in EXPECTED {
        let spec = match name {
            "closed" => json!({"disruption": {"budgets": [{"nodes": "0", "reasons": ["Drifted"]}]}}),
            "full" => json!({"limits": {"nodes": "1"}}),
            "fresh" => json!({"disruption": {"consolidateAfter": "1h"}}),
            "never" => json!({"disruption": {"consolidateAfter": "Never"}}),
            "occupied" => json!({"disruption": {"consolidationPolicy": "WhenEmpty"}}),
            _ => none.clone(),
        };
        guarded.cluster.create_pool(&node_pool(name, &spec));
        let mut deployment = one_pod_a_node(name, name, 1);
        deployment["spec"]["template"]["metadata"]["annotations"] = match name {
            "pinned" => json!({DO_NOT_DISRUPT: "true"}),
            "timed" => json!({DO_NOT_DISRUPT: "2h"}),
            _ => none.clone(),
        };
        guarded.cluster.deploy(&deployment);
    }
    for (name, ..) in EXPECTED {
        guarded.wait_until_running(name, 1);
    }
}

/// Gives Karpenter a reason for each node to go, and one to keep it.
fn keep(guarded: &Guarded) {
    let cluster = &guarded.cluster;
    for pool in ["guarded", "draining"] {
        cluster.create_in_default("policy/v1", "poddisruptionbudgets", &disruption_budget(pool, 0));
    }
    let annotate = |pool: &str, key: &str| {
        let node = name(&cluster.nodes(pool)[0]).to_owned();
        let annotation = json!({"metadata": {"annotations": {key: "true"}}});
        cluster
            .client()
            .merge(&format!("/api/v1/nodes/{node}"), &annotation);
        node
    };
    annotate("marked", DO_NOT_DISRUPT);
    let broken = annotate("broken", "karpenter.sh/do-not-repair");
    cluster.break_node(&broken);
    let deleted = claim_names(cluster, "draining").pop_first().expect("a claim");
    cluster.delete_claim(&deleted);
    cluster.scale("fresh", 0);
    cluster.scale("never", 0);
    let no_class = json!({"template": {"spec": {"nodeClassRef": {"name": "missing"}}}});
    cluster.change_pool("classless", &no_class);
    for pool in ["pinned", "timed", "guarded", "closed", "full", "marked"] {
        cluster.drift(pool, "second");
    }
}

/// What the blocked node of each of these pools is counted by.
const COUNTED: [(&str, &str); 8] = [
    ("draining", "deleting"),
    ("marked", "node_do_not_disrupt"),
    ("pinned", "pod_do_not_disrupt"),
    ("guarded", "pod_disruption_budget"),
    ("closed", "budget_closed"),
    ("full", "pool_full"),
    ("fresh", "consolidate_after"),
    ("classless", "pool_not_ready"),
];

/// Waits until `status` and the reconciler's metric count the node of each pool once, by its cause.
fn expect_counts(guarded: &Guarded) {
    let kubeconfig = guarded.cluster.plane().kubeconfig().to_str().expect("a path");
    let status = |arguments: &[&str]| {
        program::run(&[&["status", "--kubeconfig", kubeconfig], arguments].concat(), "").stdout
    };
    for (pool, expected) in COUNTED {
        guarded.wait_for(&format!("the count of {pool}"), |_| {
            let report: Value = serde_json::from_str(&status(&["--output=json"])).expect("JSON");
            assert_described(&report);
            let pools = report["nodePools"].as_array().expect("pools");
            let its = pools.iter().find(|one| one["name"] == pool).expect("the pool");
            let groups = its["blocked"].as_array().expect("groups");
            let groups: Vec<_> = groups
                .iter()
                .map(|group| (group["cause"].clone(), group["nodes"].clone()))
                .collect();
            let is_so = groups == [(json!(expected), json!(1))];
            let nodes = |cause: &str| {
                let labels = format!("{{nodepool=\"{pool}\",cause=\"{cause}\"}}");
                guarded.reconciler_metric(&format!("poolgate_nodepool_blocked_nodes{labels}"))
            };
            let others = COUNTED.iter().filter(|(_, cause)| *cause != expected);
            let is_counted_once = nodes(expected) == Some(1.0);
            let is_alone = others
                .map(|(_, cause)| nodes(cause))
                .all(|nodes| nodes == Some(0.0));
            (is_so && is_counted_once && is_alone).then_some(())
        });
    }
    println!("{}", status(&[]));
}

#[test]
fn what_keeps_a_node_is_said_and_karpenter_says_the_same() {
    let guarded = Guarded::start_repairing(NodeRepair::On, &[]);
    create(&guarded);
    keep(&guarded);
    for (pool, wanted, causes, event) in EXPECTED {
        let why = expect(&guarded, pool, wanted, causes, event);
        let first = &why["causes"][0];
        let passes = ["timed", "fresh"].contains(&pool);
        assert_eq!(first["until"].is_string(), passes, "{why:#}");
    }
    expect_counts(&guarded);
    // As text, and all of a pool that should go.
    for (pool, wanted, ..) in EXPECTED {
        let said = why(&guarded, &["pool", pool]).success();
        println!("{said}");
        let longest = said.lines().filter(|line| !line.contains("kubectl "));
        let longest = longest.map(|line| line.chars().count()).max();
        assert!(longest <= Some(80), "{said}");
        assert_eq!(
            said.contains("No node of this NodePool"),
            wanted.is_empty(),
            "{said}"
        );
        if pool == "full" {
            let page = block_of(PAGE, "console", "$ poolgate why pool full");
            let (_, shown) = page.split_once("Kept by").expect("the causes");
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                words(&said).contains(&words(shown)),
                "{shown}\n\nis not in\n{said}"
            );
        }
    }
}
