//! The cost of evicting a pod: what `poolgate_core::nodelimit::plan` computes, and Karpenter's `EvictionCost`.

use std::sync::Arc;

use poolgate_core::nodelimit::plan::{
    DELETION_COST_ANNOTATION, DISRUPTION_COST_ANNOTATION, Pod, PodCosts, eviction_cost, written_cost,
};
use poolgate_core::pods::Needs;
use serde_json::{Value, json};

use super::program::Oracle;

/// What an annotation may say, and the lack of one.
const COSTS: [Option<&str>; 17] = [
    None,
    Some(""),
    Some("0"),
    Some("-0"),
    Some("5"),
    Some("+5"),
    Some("-05"),
    Some(" 5"),
    Some("5.0"),
    Some("1e3"),
    Some("1_000"),
    Some("0x10"),
    Some("dear"),
    Some("134217728"),
    Some("2147483647"),
    Some("-2147483648"),
    Some("2147483648"),
];

const PRIORITIES: [Option<i32>; 5] = [
    None,
    Some(0),
    Some(i32::MIN),
    Some(16_777_216),
    Some(1_000_000_000),
];

fn pod(disruption: Option<&str>, deletion: Option<&str>, priority: Option<i32>) -> Pod {
    Pod {
        needs: Arc::new(Needs::default()),
        is_daemon: false,
        is_bare: false,
        is_mirror: false,
        namespace: "default".into(),
        labels: std::collections::BTreeMap::new(),
        is_unready: false,
        is_terminal: false,
        is_leaving: false,
        deleted: None,
        do_not_disrupt: None,
        started: None,
        disruption_cost: disruption.map(|text| written_cost(text).unwrap_or(0)),
        deletion_cost: deletion.and_then(written_cost),
        priority,
    }
}

#[test]
fn evicting_a_pod_costs_what_karpenter_computes() {
    let mut cases: Vec<(Value, f64)> = Vec::new();
    for (is_managed, costs) in [(false, PodCosts::Either), (true, PodCosts::Disruption)] {
        for disruption in COSTS {
            for deletion in COSTS {
                for priority in PRIORITIES {
                    let mut annotations = json!({});
                    for (key, cost) in [
                        (DISRUPTION_COST_ANNOTATION, disruption),
                        (DELETION_COST_ANNOTATION, deletion),
                    ] {
                        if let Some(cost) = cost {
                            annotations[key] = cost.into();
                        }
                    }
                    let object =
                        json!({"metadata": {"annotations": annotations}, "spec": {"priority": priority}});
                    let question = json!({"kind": "eviction", "object": object, "managed": is_managed});
                    let pod = pod(disruption, deletion, priority);
                    cases.push((question, eviction_cost(&pod, costs)));
                }
            }
        }
    }
    let questions: Vec<Value> = cases.iter().map(|(question, _)| question.clone()).collect();
    let answers = Oracle::start().ask(&questions);
    for ((question, ours), answer) in cases.iter().zip(answers) {
        assert_eq!(answer.given()["cost"].as_f64(), Some(*ours), "{question}");
    }
}
