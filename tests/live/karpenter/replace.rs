//! Drifted nodes of a full pool that wants them replaced: one is terminated, and its successor takes its place.

use std::time::Instant;

use serde_json::{Value, json};

use super::full_pool::{FullPool, is_ready};
use super::guarded::Guarded;
use super::shared::REPLACING;
use crate::support::karpenter::look::disrupted;
use crate::support::karpenter::objects::annotated_pool;
use crate::support::recording::spells;

/// A pool that wants its drifted nodes replaced, whose limit is left to poolgate.
fn replacing(name: &str, limit: usize) -> Value {
    let spec = json!({
        "disruption": {"nodeLimitMode": "Hard"},
        "template": {"spec": {"terminationGracePeriod": "1h"}},
    });
    let mut pool = annotated_pool(name, &spec, limit);
    pool["metadata"]["annotations"]["poolgate.dev/at-limit"] = json!("Replace");
    pool
}

/// How many nodes of a pool are of its new template, and of use.
fn patched(guarded: &Guarded, pool: &str) -> usize {
    let claims = guarded.cluster.claims(pool);
    let of_new_template = |claim: &&Value| claim["metadata"]["labels"]["generation"] == "second";
    claims
        .iter()
        .filter(of_new_template)
        .filter(|claim| is_ready(claim))
        .count()
}

/// Lets every node of a full pool drift, and waits until so many of them are replaced. Returns how many creations were
/// denied in the cluster meanwhile.
fn replace(guarded: &Guarded, pool: &str, limit: usize, nodes: usize) -> usize {
    let full = FullPool::fill(guarded, &replacing(pool, limit), limit);
    guarded.wait_until_held(pool, limit);
    let before = guarded.denials("Hard");
    let begun = Instant::now();
    guarded.cluster.drift(pool, "second");
    for number in 1..=nodes {
        // Before each of them poolgate waits until no pod has been pending for two minutes.
        guarded.wait_for(&format!("{number} nodes to be replaced"), |_| {
            (patched(guarded, pool) >= number).then_some(())
        });
        println!("{number} of {limit} replaced after {:.1?}", begun.elapsed());
    }
    let denied = guarded.denials("Hard") - before;
    full.assert_sound();
    assert!(full.fewest_ready(begun) >= limit - 1, "{}", guarded.story());
    assert_eq!(full.deleted().len(), nodes, "{}", guarded.story());
    // What Karpenter begins by itself begins with a taint, and ends at the limit.
    let closed = spells(&full.nodes.changes(guarded.cluster.client()), |node| {
        disrupted(node) && node["metadata"]["deletionTimestamp"].is_null()
    });
    assert!(closed.is_empty(), "{closed:?}\n{}", guarded.story());
    denied
}

#[test]
fn a_drifted_node_of_a_full_pool_that_wants_it_is_replaced_within_the_limit() {
    let guarded = REPLACING.get();
    replace(&guarded, "patching", 2, 1);
}

#[test]
#[ignore = "long: .ci/nightly"]
fn twenty_drifted_nodes_of_a_pool_of_twenty_become_twenty_patched_ones_and_never_less_than_nineteen() {
    let guarded = Guarded::start(&["--settle=5s"]);
    guarded.review_pools();
    let denied = replace(&guarded, "patching", 20, 20);
    println!("{denied} creations denied");
    assert_eq!(patched(&guarded, "patching"), 20, "{}", guarded.story());
    // Karpenter may ask for a place before it has read that there is none.
    assert!(denied <= 40, "{denied}\n{}", guarded.story());
}
