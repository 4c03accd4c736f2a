//! Broken nodes of full pools that leave their limit to poolgate: the limit that Karpenter sees does not follow its tries.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::json;

use super::super::full_pool::FullPool;
use super::super::guarded::Guarded;
use super::{DENIALS, SETTLED};
use crate::support::full::full;
use crate::support::karpenter::NodeRepair;
use crate::support::karpenter::objects::annotated_pool;

/// How long a broken node may stay by default.
const LONGEST: Duration = Duration::from_mins(5);

/// Breaks so many nodes of a full pool, and waits until all of them are replaced. Each may cost these writes of
/// `spec.limits.nodes`.
fn replace(args: &[&str], mode: &str, limit: usize, broken: usize, writes: &[&str]) {
    let guarded = Guarded::start_repairing(NodeRepair::On, args);
    guarded.review_pools();
    let spec = json!({"disruption": {"nodeLimitMode": mode}});
    let pool = FullPool::fill(&guarded, &annotated_pool("full", &spec, limit), limit);
    let members = pool.members();
    let broken = &members[..broken];
    let before = guarded.denials(mode);
    let begun = Instant::now();
    for member in broken {
        guarded.cluster.break_node(&member.node);
    }
    for member in broken {
        let replaced = pool.wait_until_replaced(member, begun);
        println!("{mode}: {replaced:.1?}");
        assert!(
            !full() || broken.len() > 1 || replaced.deleted < LONGEST,
            "{replaced:.1?}"
        );
    }
    let denied = guarded.denials(mode) - before;
    // Nothing is left to do then: what follows would be written again and again.
    guarded.linger(Duration::from_secs(20));
    let limits = pool.limits_since(begun);
    let an_hour = limits.len() * 3_600 / usize::try_from(begun.elapsed().as_secs()).expect("seconds");
    println!("{denied} creations denied, limits written {limits:?}, that is {an_hour} in an hour");
    assert_eq!(limits, writes.repeat(broken.len()), "{}", guarded.story());
    let deleted: BTreeSet<_> = pool.deleted().into_iter().collect();
    let wanted: BTreeSet<_> = broken.iter().map(|member| member.claim.clone()).collect();
    assert_eq!(deleted, wanted, "{}", guarded.story());
    if mode == "Hard" {
        pool.assert_sound();
    }
    assert!(denied <= broken.len() * DENIALS, "{denied}\n{}", guarded.story());
}

#[test]
fn a_broken_node_of_a_full_pool_that_leaves_its_limit_to_poolgate_is_replaced() {
    replace(SETTLED, "Hard", 5, 1, &["4", "5"]);
}

#[test]
#[ignore = "long: .ci/nightly"]
fn a_broken_node_of_a_full_pool_that_leaves_its_limit_to_poolgate_goes_within_five_minutes_by_default() {
    replace(&[], "Hard", 5, 1, &["4", "5"]);
}

#[test]
#[ignore = "long: .ci/nightly"]
fn a_broken_node_of_a_full_soft_pool_that_leaves_its_limit_to_poolgate_goes_within_five_minutes_by_default() {
    replace(&[], "Soft", 5, 1, &[]);
}

#[test]
#[ignore = "long: .ci/nightly"]
fn two_broken_nodes_of_a_full_pool_that_leaves_its_limit_to_poolgate_are_replaced_one_after_the_other() {
    replace(&[], "Hard", 10, 2, &["9", "10"]);
}
