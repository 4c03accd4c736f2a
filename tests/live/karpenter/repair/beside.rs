//! What a broken node of a full pool costs the other pools: a replacement that is denied ends a round of Karpenter's
//! disruption, for all pools, and each next one comes later.

use std::time::Instant;

use super::super::full_pool::FullPool;
use super::super::guarded::Guarded;
use super::super::neighbours::{Neighbours, Waits};
use super::{HOPE, SETTLED, hard_pool};
use crate::support::karpenter::NodeRepair;

/// How often each is measured: Karpenter looks every ten seconds, and what it meets is chance.
const ROUNDS: usize = 3;

/// How long the neighbours waited, time by time: beside a pool at its limit, one of whose nodes broke so long before that
/// Karpenter began to replace it then, if one is `broken`.
fn measure(guarded: &Guarded, broken: bool) -> Vec<Waits> {
    let full = FullPool::fill(guarded, &hard_pool("full", 5), 5);
    let mut neighbours = Neighbours::create(guarded);
    let round = |_| {
        neighbours.restore();
        let member = &full.members()[0];
        let begun = Instant::now();
        if broken {
            guarded.cluster.break_node(&member.node);
            guarded.linger(HOPE);
        }
        let waits = neighbours.wait();
        if broken {
            println!("{:.1?}", full.wait_until_replaced(member, begun));
        }
        waits
    };
    (0..ROUNDS).map(round).collect()
}

/// The same in words, and the longest of each.
fn tell(what: &str, all: &[Waits]) -> Waits {
    for waits in all {
        println!("{what}: {waits}");
    }
    Waits::longest(all)
}

#[test]
#[ignore = "long: .ci/nightly"]
fn a_broken_node_of_a_full_pool_keeps_others_waiting_at_most_twice_as_long() {
    let karpenter = Guarded::unguarded_repairing;
    let poolgate = || Guarded::start_repairing(NodeRepair::On, SETTLED);
    // Two at a time: more would wait for the machine.
    let [alone, alone_broken, quiet, broken] = std::thread::scope(|scope| {
        let without = scope.spawn(|| {
            [false, true].map(|broken| {
                let waits = measure(&karpenter(), broken);
                tell(
                    if broken {
                        "Karpenter alone, a broken node"
                    } else {
                        "Karpenter alone"
                    },
                    &waits,
                )
            })
        });
        let with = scope.spawn(|| {
            [false, true].map(|broken| {
                let guarded = poolgate();
                let waits = measure(&guarded, broken);
                println!("{} creations denied", guarded.denials("Hard"));
                tell(
                    if broken {
                        "with poolgate, a broken node"
                    } else {
                        "with poolgate"
                    },
                    &waits,
                )
            })
        });
        let [alone, alone_broken] = without.join().expect("the measurements without poolgate");
        let [quiet, broken] = with.join().expect("the measurements with poolgate");
        [alone, alone_broken, quiet, broken]
    });
    // Which of them Karpenter takes first is chance, and before an empty node goes all others wait for a quarter of a
    // minute: so it counts when the last one was served.
    let before = Waits::longest(&[alone, alone_broken, quiet]);
    assert!(
        broken.last_node() <= 2 * before.last_node(),
        "{broken}; before: {before}"
    );
    assert!(broken.pod <= 2 * before.pod, "{broken}; before: {before}");
}
