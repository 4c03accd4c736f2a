//! What Karpenter does by itself to broken nodes, and poolgate must not meddle with.

use std::collections::BTreeSet;
use std::time::Instant;

use serde_json::json;

use super::super::full_pool::FullPool;
use super::hard_pool;
use super::shared::UNDENIED;
use crate::support::karpenter::look::condition;
use crate::support::karpenter::objects::limited_pool;
use crate::support::recording::name;

#[test]
#[ignore = "long: .ci/nightly"]
fn a_broken_node_of_a_full_soft_pool_is_replaced_by_karpenter_alone() {
    let guarded = UNDENIED.get();
    let soft = json!({"disruption": {"nodeLimitMode": "Soft"}});
    let full = FullPool::fill(&guarded, &limited_pool("soft", &soft, 3), 3);
    let broken = &full.members()[0];
    let begun = Instant::now();
    guarded.cluster.break_node(&broken.node);
    let replaced = full.wait_until_replaced(broken, begun);
    println!("{replaced:.1?}, {} creations denied", guarded.denials("Soft"));
    // The replacement came first.
    assert_eq!(guarded.most(&full.claims), 4, "{}", guarded.story());
    assert!(
        !full.was_marked_against_repair(&broken.node),
        "{}",
        guarded.story()
    );
    for reason in ["ReplacementStarted", "ReplacementBlocked"] {
        assert!(
            guarded.cluster.events("soft", reason).is_empty(),
            "{}",
            guarded.story()
        );
    }
}

#[test]
#[ignore = "long: .ci/nightly"]
fn a_node_of_a_full_pool_that_is_rebooted_is_left_alone() {
    let guarded = UNDENIED.get();
    let full = FullPool::fill(&guarded, &hard_pool("rebooted", 3), 3);
    let members = full.members();
    let begun = Instant::now();
    guarded.cluster.require_reboot(&members[0].node);
    guarded.wait_for("the node to be rebooted", |_| {
        let changes = full.claims.so_far();
        let of_it = |change: &&_| name(change) == members[0].claim;
        let mut claims = changes.iter().map(|change| &change.object).filter(of_it);
        let is_rebooted = claims.any(|claim| condition(claim, "Rebooting") == "True")
            && claims.any(|claim| condition(claim, "Rebooting") == "False");
        is_rebooted.then_some(())
    });
    full.wait_until_full_without(&BTreeSet::new());
    println!("rebooted after {:.1?}", begun.elapsed());
    assert_eq!(full.members(), members, "{}", guarded.story());
    assert_eq!(full.deleted(), [""; 0], "{}", guarded.story());
    assert!(
        !full.was_marked_against_repair(&members[0].node),
        "{}",
        guarded.story()
    );
    full.assert_sound();
}
