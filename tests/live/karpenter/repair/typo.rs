//! A limit of 50 that somebody types as 5: a pool of five nodes seems to be full.

use std::time::{Duration, Instant};

use serde_json::json;

use super::super::full_pool::FullPool;
use super::super::guarded::Guarded;
use super::hard_pool;
use crate::support::karpenter::NodeRepair;
use crate::support::karpenter::look::claim_names;

const SETTLE: Duration = Duration::from_secs(90);

/// When somebody notices, as half of that has passed.
const NOTICED: Duration = Duration::from_secs(45);

#[test]
#[ignore = "long: .ci/nightly"]
fn a_limit_that_is_put_right_before_it_has_settled_costs_a_broken_node_nothing() {
    let guarded = Guarded::start_repairing(NodeRepair::On, &["--settle=90s"]);
    let started = Instant::now();
    let full = FullPool::fill(&guarded, &hard_pool("full", 50), 5);
    // Otherwise that it has just been started would spare the node.
    guarded.linger(SETTLE.saturating_sub(started.elapsed()));
    let old = claim_names(&guarded.cluster, "full");
    let typed = Instant::now();
    guarded
        .cluster
        .change_pool("full", &json!({"limits": {"nodes": "5"}}));
    let broken = &full.members()[0];
    guarded.cluster.find_node_broken(&broken.node);
    guarded.wait_for("replacements to be denied", |_| {
        (guarded.denials("Hard") >= 2).then_some(())
    });
    guarded.linger(NOTICED.saturating_sub(typed.elapsed()));
    let now = claim_names(&guarded.cluster, "full");
    let deleted = full.deleted();
    assert!(
        (deleted.is_empty() && now == old) || typed.elapsed() >= SETTLE,
        "{deleted:?}\n{}",
        guarded.story()
    );
    full.assert_no_deadline_of_the_living();

    let right = Instant::now();
    guarded
        .cluster
        .change_pool("full", &json!({"limits": {"nodes": "50"}}));
    println!(
        "{:.1?} after the limit was put right",
        full.wait_until_replaced(broken, right)
    );
    // Karpenter itself replaced it.
    assert_eq!(guarded.most(&full.claims), 6, "{}", guarded.story());
}
