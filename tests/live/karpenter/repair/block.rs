//! A pool that keeps its broken nodes: they wait for room, and nobody waits for them.

use std::time::Instant;

use serde_json::json;

use super::super::full_pool::FullPool;
use super::super::guarded::Guarded;
use super::super::neighbours::Neighbours;
use super::{DENIALS, HOPE, SETTLED, hard_pool};
use crate::support::karpenter::NodeRepair;

#[test]
fn a_broken_node_of_a_full_pool_that_keeps_it_harms_no_other_pool_and_goes_when_there_is_room() {
    let guarded = Guarded::start_repairing(NodeRepair::On, SETTLED);
    let mut pool = hard_pool("full", 3);
    pool["metadata"]["annotations"] = json!({"poolgate.dev/at-limit": "Block"});
    let full = FullPool::fill(&guarded, &pool, 3);
    let mut neighbours = Neighbours::create(&guarded);
    let before = guarded.denials("Hard");
    let broken = &full.members()[0];
    guarded.cluster.break_node(&broken.node);
    guarded.linger(HOPE);
    let waits = neighbours.wait();
    full.wait_until_marked_against_repair(&broken.node, true);
    let said = full.wait_for_event("ReplacementBlocked");
    assert!(said.contains(&broken.node), "{said}");
    let denied = guarded.denials("Hard") - before;
    println!("{denied} creations denied; beside it: {waits}");
    assert!(denied <= DENIALS, "{denied}\n{}", guarded.story());
    full.assert_sound();
    assert_eq!(full.deleted(), [""; 0], "{}", guarded.story());

    let raised = Instant::now();
    guarded
        .cluster
        .change_pool("full", &json!({"limits": {"nodes": "4"}}));
    // The replacement comes first again, so this is Karpenter's own.
    println!(
        "{:.1?} after the limit was raised",
        full.wait_until_replaced(broken, raised)
    );
    assert_eq!(guarded.most(&full.claims), 4, "{}", guarded.story());
}
