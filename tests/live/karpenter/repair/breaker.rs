//! Several broken nodes: one after the other, and none if Karpenter finds that too many are.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::super::full_pool::{FullPool, Member};
use super::super::guarded::{Guarded, observation};
use super::shared::UNDENIED;
use super::{DENIALS, HOPE, SETTLED, hard_pool};
use crate::support::karpenter::NodeRepair;
use crate::support::karpenter::look::disrupted;
use crate::support::recording::spells;

const LIMIT: usize = 10;

fn break_all(guarded: &Guarded, members: &[Member]) {
    for member in members {
        guarded.cluster.break_node(&member.node);
    }
}

#[test]
#[ignore = "long: .ci/nightly"]
fn two_broken_nodes_of_ten_are_replaced_one_after_the_other() {
    let guarded = Guarded::start_repairing(NodeRepair::On, SETTLED);
    let full = FullPool::fill(&guarded, &hard_pool("full", LIMIT), LIMIT);
    let before = guarded.denials("Hard");
    let broken = &full.members()[..2];
    let begun = Instant::now();
    break_all(&guarded, broken);
    let claims: BTreeSet<_> = broken.iter().map(|member| member.claim.clone()).collect();
    full.wait_until_full_without(&claims);
    let denied = guarded.denials("Hard") - before;
    println!(
        "two replaced after {:.1?}, {denied} creations denied",
        begun.elapsed()
    );
    full.assert_sound();
    let deleted: BTreeSet<_> = full.deleted().into_iter().collect();
    assert_eq!(deleted, claims, "{}", guarded.story());
    // The second had to wait until the first had its successor.
    assert_eq!(full.fewest_ready(begun), LIMIT - 1, "{}", guarded.story());
    assert!(denied <= 2 * DENIALS, "{denied}\n{}", guarded.story());
}

#[test]
#[ignore = "long: .ci/nightly"]
fn three_broken_nodes_of_ten_are_too_many_for_karpenter_and_none_is_deleted() {
    let guarded = UNDENIED.get();
    let full = FullPool::fill(&guarded, &hard_pool("many", LIMIT), LIMIT);
    break_all(&guarded, &full.members()[..3]);
    let said = full.wait_for_event("NodeRepairBlocked");
    assert!(said.contains("more than 20% of nodes"), "{said}");
    guarded.linger(HOPE + observation());
    assert_eq!(full.deleted(), [""; 0], "{}", guarded.story());
    let closed = spells(&full.nodes.changes(guarded.cluster.client()), disrupted);
    assert!(closed.is_empty(), "{closed:?}\n{}", guarded.story());
    full.assert_sound();
}

/// Nothing is left then of what Karpenter wanted before.
#[test]
#[ignore = "long: .ci/nightly"]
fn a_broken_node_that_waits_for_its_turn_stays_when_more_of_them_break() {
    // So long that all three are broken by then.
    let guarded = Guarded::start_repairing(NodeRepair::On, &["--settle=2m"]);
    let full = FullPool::fill(&guarded, &hard_pool("full", LIMIT), LIMIT);
    let members = full.members();
    guarded.cluster.find_node_broken(&members[0].node);
    full.wait_until_marked_against_repair(&members[0].node, true);
    break_all(&guarded, &members[1..3]);
    let said = full.wait_for_event("ReplacementDropped");
    assert!(said.contains(&members[0].node), "{said}");
    guarded.linger(Duration::from_mins(2));
    assert_eq!(full.deleted(), [""; 0], "{}", guarded.story());
    full.assert_sound();
}
