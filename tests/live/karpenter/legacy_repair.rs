//! Repair as it was up to 1.14, and still is with `LEGACY_NODE_REPAIR=true`: Karpenter deletes a broken node at once. No
//! limit is in its way.

use std::time::Instant;

use serde_json::json;

use super::full_pool::FullPool;
use super::shared::REPLACING;
use crate::support::karpenter::objects::limited_pool;

#[test]
fn a_broken_node_of_a_full_pool_that_karpenter_deletes_by_itself_is_replaced_within_the_limit() {
    let guarded = REPLACING.get();
    let hard = json!({"disruption": {"nodeLimitMode": "Hard"}});
    let full = FullPool::fill(&guarded, &limited_pool("legacy", &hard, 3), 3);
    let broken = &full.members()[0];
    let begun = Instant::now();
    guarded.wait_for("the broken node to be deleted", |cluster| {
        // The kubelet in its place says the opposite at once.
        cluster.find_node_not_ready(&broken.node);
        (!full.deleted().is_empty()).then_some(())
    });
    println!("{:.1?}", full.wait_until_replaced(broken, begun));
    assert_eq!(guarded.most(&full.claims), 3, "{}", guarded.story());
    assert_eq!(full.deleted(), [broken.claim.as_str()], "{}", guarded.story());
    assert!(
        !full.was_marked_against_repair(&broken.node),
        "{}",
        guarded.story()
    );
}
