//! A reconciler that dies while it replaces a node, and a gate that is not there meanwhile: the end is the same.

use std::time::{Duration, Instant};

use rand::RngExt;

use super::super::full_pool::FullPool;
use super::super::guarded::Guarded;
use super::{HOPE, SETTLED, hard_pool};
use crate::support::chance::random;
use crate::support::karpenter::NodeRepair;

const LIMIT: usize = 3;

/// Whoever dies is missed soon.
const HASTE: [&str; 2] = ["--lease-duration=3s", "--settle=1s"];

/// How many nodes break, and how often the reconciler is killed for each.
const ROUNDS: u32 = 10;
const KILLS: u32 = 2;

/// A replacement takes about as long from its first denial on.
const SOON: u64 = 15_000;

#[test]
#[ignore = "long: .ci/nightly"]
fn a_reconciler_that_is_killed_at_any_moment_of_a_replacement_harms_no_other_node() {
    let mut random = random();
    let guarded = Guarded::start_repairing(NodeRepair::On, &HASTE);
    let full = FullPool::fill(&guarded, &hard_pool("full", LIMIT), LIMIT);
    let mut right = Vec::new();
    for _ in 0..ROUNDS {
        let broken = &full.members()[0];
        let before = guarded.denials("Hard");
        guarded.cluster.find_node_broken(&broken.node);
        guarded.wait_for("a replacement to be denied", |_| {
            (guarded.denials("Hard") > before).then_some(())
        });
        let begun = Instant::now();
        for _ in 0..KILLS {
            guarded.linger(Duration::from_millis(random.random_range(0..SOON)));
            guarded.kill_reconciler();
            guarded.reconcile(&HASTE);
        }
        println!("{:.1?}", full.wait_until_replaced(broken, begun));
        right.push(broken.claim.clone());
        assert_eq!(full.deleted(), right, "{}", guarded.story());
    }
    full.assert_sound();
    assert_eq!(full.deleted(), right, "{}", guarded.story());
}

/// Karpenter's creations fail then too, but not because the pool is full.
#[test]
#[ignore = "long: .ci/nightly"]
fn a_broken_node_stays_while_no_gate_says_that_its_pool_is_full() {
    let guarded = Guarded::start_repairing(NodeRepair::On, SETTLED);
    let full = FullPool::fill(&guarded, &hard_pool("full", LIMIT), LIMIT);
    guarded.kill_gate();
    let broken = &full.members()[0];
    let begun = Instant::now();
    guarded.cluster.find_node_broken(&broken.node);
    guarded.linger(2 * HOPE);
    assert_eq!(full.deleted(), [""; 0], "{}", guarded.story());
    guarded.guard();
    println!("{:.1?}", full.wait_until_replaced(broken, begun));
    full.assert_sound();
}
