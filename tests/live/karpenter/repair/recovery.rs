//! Nodes that become well again while their replacement is denied.

use super::super::full_pool::FullPool;
use super::super::guarded::{Guarded, observation};
use super::{SETTLED, hard_pool};
use crate::support::karpenter::NodeRepair;
use crate::support::karpenter::look::disrupted;

const LIMIT: usize = 3;

/// Lets a node break and be well again, and this happen in between. Nothing has settled when it breaks, so it only waits.
fn recover(meanwhile: impl FnOnce(&Guarded, &dyn Fn())) {
    let guarded = Guarded::start_repairing(NodeRepair::On, &["--settle=2m", "--lease-duration=3s"]);
    let full = FullPool::fill(&guarded, &hard_pool("full", LIMIT), LIMIT);
    let members = full.members();
    let node = &members[0].node;
    guarded.cluster.find_node_broken(node);
    full.wait_until_marked_against_repair(node, true);
    assert!(guarded.denials("Hard") > 0, "{}", guarded.story());
    meanwhile(&guarded, &|| guarded.cluster.heal_node(node));
    full.wait_until_marked_against_repair(node, false);
    guarded.linger(observation());
    assert_eq!(full.deleted(), [""; 0], "{}", guarded.story());
    assert_eq!(full.members(), members, "{}", guarded.story());
    assert!(
        !guarded.cluster.nodes("full").iter().any(disrupted),
        "{}",
        guarded.story()
    );
    full.assert_sound();
}

#[test]
#[ignore = "long: .ci/nightly"]
fn a_node_that_becomes_well_while_its_replacement_waits_survives() {
    recover(|_, heal| heal());
}

#[test]
#[ignore = "long: .ci/nightly"]
fn a_node_that_becomes_well_while_no_reconciler_runs_survives_the_next_one() {
    recover(|guarded, heal| {
        guarded.kill_reconciler();
        heal();
        guarded.reconcile(&[SETTLED, &["--lease-duration=3s"]].concat());
    });
}

#[test]
#[ignore = "long: .ci/nightly"]
fn what_a_reconciler_has_seen_of_a_node_counts_for_nothing_after_its_restart() {
    recover(|guarded, heal| {
        guarded.kill_reconciler();
        // Again one for which nothing has settled yet.
        guarded.reconcile(&["--settle=2m", "--lease-duration=3s"]);
        heal();
    });
}
