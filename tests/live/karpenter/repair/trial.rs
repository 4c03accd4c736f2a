//! The trial for which poolgate replaces broken nodes: one of five in a pool that may have five.

use std::time::Instant;

use super::super::full_pool::FullPool;
use super::super::guarded::Guarded;
use super::super::neighbours::Neighbours;
use super::{DENIALS, HOPE, SETTLED, hard_pool};
use crate::support::karpenter::NodeRepair;

#[test]
fn a_broken_node_of_a_full_pool_is_replaced_within_the_limit_and_others_go_on_meanwhile() {
    let guarded = Guarded::start_repairing(NodeRepair::On, SETTLED);
    let full = FullPool::fill(&guarded, &hard_pool("full", 5), 5);
    let mut neighbours = Neighbours::create(&guarded);
    let before = guarded.denials("Hard");
    let broken = &full.members()[0];
    let begun = Instant::now();
    guarded.cluster.break_node(&broken.node);
    guarded.linger(HOPE);
    // From now on Karpenter tries to replace it.
    let waits = neighbours.wait();
    let replaced = full.wait_until_replaced(broken, begun);
    let denied = guarded.denials("Hard") - before;
    println!("{replaced:.1?}, {denied} creations denied; beside it: {waits}");
    full.assert_sound();
    assert_eq!(full.deleted(), [broken.claim.as_str()], "{}", guarded.story());
    assert!(denied <= DENIALS, "{denied}\n{}", guarded.story());
    let said = full.wait_for_event("ReplacementStarted");
    assert!(said.contains(&broken.node), "{said}");
    let counted = "poolgate_replacements_total{reason=\"Unhealthy\",outcome=\"replaced\"}";
    guarded.wait_for("the replacement to be counted", |_| {
        (guarded.reconciler_metric(counted) == Some(1.0)).then_some(())
    });
}
