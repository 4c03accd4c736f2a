//! A pool that changes its mind while its nodes are replaced.

use std::time::{Duration, Instant};

use super::super::full_pool::FullPool;
use super::super::guarded::Guarded;
use super::{HOPE, SETTLED, hard_pool};
use crate::support::karpenter::NodeRepair;

const LIMIT: usize = 10;

/// A node that has its turn is unmarked, and tried by Karpenter within this time.
const TURN: Duration = Duration::from_secs(90);

#[test]
#[ignore = "long: .ci/nightly"]
fn a_pool_that_no_longer_wants_its_nodes_replaced_loses_no_more_of_them() {
    let guarded = Guarded::start_repairing(NodeRepair::On, SETTLED);
    let full = FullPool::fill(&guarded, &hard_pool("full", LIMIT), LIMIT);
    let members = full.members();
    for member in &members[..2] {
        guarded.cluster.break_node(&member.node);
    }
    guarded.linger(HOPE);
    let deleted = guarded.wait_for("one of two to be deleted", |_| {
        let deleted = full.deleted();
        (!deleted.is_empty()).then_some(deleted)
    });
    full.at_limit("Block");
    let (first, second) = if deleted.contains(&members[0].claim) {
        (&members[0], &members[1])
    } else {
        (&members[1], &members[0])
    };
    full.wait_until_full_without(&[first.claim.clone()].into());
    full.wait_until_marked_against_repair(&second.node, true);
    guarded.linger(TURN);
    assert_eq!(full.deleted(), [first.claim.as_str()], "{}", guarded.story());

    let begun = Instant::now();
    full.at_limit("Repair");
    println!(
        "{:.1?} after it wants it again",
        full.wait_until_replaced(second, begun)
    );
    full.assert_sound();
}
