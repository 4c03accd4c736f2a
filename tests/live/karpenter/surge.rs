//! A full pool that may have one node more while one is replaced.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::full_pool::FullPool;
use super::guarded::{Guarded, observation};
use super::shared::REPLACING;
use crate::support::karpenter::look::claim_names;
use crate::support::karpenter::objects::{MEDIUM, SMALL, limited_pool, pods};

/// How many creations may be denied where a command asks for more than there is, on a busy machine.
const DENIALS: usize = 30;

fn surging(name: &str, limit: usize) -> Value {
    let mut pool = limited_pool(name, &json!({"disruption": {"nodeLimitMode": "Hard"}}), limit);
    pool["metadata"]["annotations"] = json!({"poolgate.dev/surge": "1"});
    pool
}

/// Lets every node of a full pool drift, and waits until all are replaced.
fn replace_all(guarded: &Guarded, name: &str, limit: usize) {
    let full = FullPool::fill(guarded, &surging(name, limit), limit);
    let old = claim_names(&guarded.cluster, name);
    let before = guarded.denials("Hard");
    let begun = Instant::now();
    guarded.cluster.drift(name, "second");
    full.wait_until_full_without(&old);
    let denied = guarded.denials("Hard") - before;
    println!(
        "{limit} replaced after {:.1?}, {denied} creations denied",
        begun.elapsed()
    );
    // Exactly one more at some moment: Karpenter creates the replacement first.
    assert_eq!(guarded.most(&full.claims), limit + 1, "{}", guarded.story());
    full.assert_no_deadline_of_the_living();
}

#[test]
fn drifted_nodes_of_a_full_pool_with_a_surge_are_replaced_with_one_node_more_at_a_time() {
    let guarded = REPLACING.get();
    replace_all(&guarded, "surging", 2);
}

#[test]
#[ignore = "long: .ci/nightly"]
fn twenty_drifted_nodes_with_a_surge_of_one_are_replaced_by_never_more_than_twenty_one() {
    let guarded = Guarded::start(&["--settle=5s"]);
    guarded.review_pools();
    replace_all(&guarded, "surging", 20);
}

/// One of the two is created, and is empty then; the other one is denied.
#[test]
#[ignore = "long: .ci/nightly"]
fn a_node_that_needs_two_replacements_gets_no_second_one_by_a_surge_of_one() {
    let guarded = Guarded::start(&["--settle=5s"]);
    guarded.review_pools();
    let types = |machine: &str| {
        json!([
            {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
            {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": [machine]},
        ])
    };
    let mut pool = surging("split", 3);
    pool["spec"]["template"]["spec"]["requirements"] = types(MEDIUM);
    // Two fit on a machine of four processors, one on a machine of two.
    let full = FullPool::fill_with(&guarded, &pool, 3, &pods("split", "split", 6, "1500m"));
    let before = guarded.denials("Hard");
    let requirements = json!({"template": {"spec": {"requirements": types(SMALL)}}});
    guarded.cluster.change_pool("split", &requirements);
    guarded.wait_for("one of the two to be created", |_| {
        (guarded.most(&full.claims) > 3).then_some(())
    });
    guarded.linger(observation().max(Duration::from_mins(2)));
    let denied = guarded.denials("Hard") - before;
    println!("{denied} creations denied");
    assert_eq!(guarded.most(&full.claims), 4, "{}", guarded.story());
    assert!(denied <= DENIALS, "{denied}\n{}", guarded.story());
    let running = guarded.cluster.pods_in_phase("split", "Running");
    assert_eq!(running, 6, "{}", guarded.story());
}
