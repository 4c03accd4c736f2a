//! A broken node of a pool without a limit, whose pods Karpenter would give to a full pool: there a node drains that
//! Karpenter no longer counts.

use std::time::Instant;

use serde_json::{Value, json};

use super::super::full_pool::FullPool;
use super::super::guarded::Guarded;
use super::super::neighbours::Neighbours;
use super::{DENIALS, SETTLED, hard_pool};
use crate::support::karpenter::NodeRepair;
use crate::support::karpenter::look::disrupted;
use crate::support::karpenter::objects::{disruption_budget, node_pool, one_pod_a_node};
use crate::support::recording::spells;

const LIMIT: usize = 3;

#[test]
#[ignore = "long: .ci/nightly"]
fn a_broken_node_whose_replacement_a_full_pool_denies_harms_nobody_wherever_it_stands() {
    let guarded = Guarded::start_repairing(NodeRepair::On, SETTLED);
    let cluster = &guarded.cluster;
    let mut preferred = hard_pool("full", LIMIT);
    preferred["spec"]["weight"] = json!(10);
    // None of its pods may be evicted.
    let budget = disruption_budget("full", 0);
    cluster.create_in_default("policy/v1", "poddisruptionbudgets", &budget);
    let full = FullPool::fill(&guarded, &preferred, LIMIT);
    let mut free = one_pod_a_node("open", "open", 1);
    let pod = &mut free["spec"]["template"]["spec"];
    pod["nodeSelector"] = Value::Null;
    pod["affinity"]["nodeAffinity"] = json!({
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "karpenter.sh/nodepool", "operator": "In", "values": ["full", "open"]},
        ]}]},
    });
    let open = FullPool::fill_with(&guarded, &node_pool("open", &json!({"weight": 1})), 1, &free);
    let mut neighbours = Neighbours::create(&guarded);
    cluster.delete_claim(&full.members()[0].claim);

    let broken = &open.members()[0];
    cluster.find_node_broken(&broken.node);
    open.wait_until_marked_against_repair(&broken.node, true);
    let waits = neighbours.wait();
    let tries = spells(&open.nodes.changes(cluster.client()), disrupted).len();
    println!("{tries} times closed to pods; beside it: {waits}");
    assert!(tries <= DENIALS, "{tries}\n{}", guarded.story());
    assert_eq!(open.deleted(), [""; 0], "{}", guarded.story());

    // With the drain ends what was in its way. That shows nowhere, so poolgate lets Karpenter try again after a while.
    let begun = Instant::now();
    cluster
        .client()
        .delete("/apis/policy/v1/namespaces/default/poddisruptionbudgets/full");
    open.wait_until_full_without(&[broken.claim.clone()].into());
    println!("replaced {:.1?} after that", begun.elapsed());
    full.assert_sound();
}
