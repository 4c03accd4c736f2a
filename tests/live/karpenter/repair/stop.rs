//! A node that was deleted and gets no successor: no other one is deleted before somebody has changed something.

use std::time::{Duration, Instant};

use serde_json::json;

use super::super::full_pool::{FullPool, is_ready};
use super::super::guarded::Guarded;
use super::{SETTLED, hard_pool};
use crate::support::karpenter::NodeRepair;
use crate::support::recording::name;

const LIMIT: usize = 5;
const NODE_CLASSES: &str = "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses";

/// How long poolgate waits for a successor.
const PATIENCE: Duration = Duration::from_mins(15);

/// How long a node may take to appear.
fn let_machines_start_within(guarded: &Guarded, time: &str) {
    let spec = json!({"spec": {"nodeRegistrationDelay": time}});
    guarded
        .cluster
        .client()
        .merge(&format!("{NODE_CLASSES}/changing"), &spec);
}

#[test]
#[ignore = "long: .ci/nightly"]
fn a_node_class_that_no_longer_works_costs_a_pool_one_node_and_a_new_template_begins_anew() {
    let guarded = Guarded::start_repairing(NodeRepair::On, SETTLED);
    let cluster = &guarded.cluster;
    cluster.client().create(
        NODE_CLASSES,
        &json!({
            "apiVersion": "karpenter.kwok.sh/v1alpha1",
            "kind": "KWOKNodeClass",
            "metadata": {"name": "changing"},
            "spec": {},
        }),
    );
    let mut pool = hard_pool("full", LIMIT);
    pool["spec"]["template"]["spec"]["nodeClassRef"]["name"] = json!("changing");
    let full = FullPool::fill(&guarded, &pool, LIMIT);
    let members = full.members();
    let lost = || {
        let deleted = full.deleted();
        let mut old = members.iter().map(|member| member.claim.as_str());
        old.by_ref()
            .filter(|claim| deleted.iter().any(|one| one == claim))
            .count()
    };

    let_machines_start_within(&guarded, "1h");
    cluster.find_node_broken(&members[0].node);
    guarded.wait_for("the broken node to be gone", |cluster| {
        let claims = cluster.claims("full");
        claims
            .iter()
            .all(|claim| name(claim) != members[0].claim)
            .then_some(())
    });
    cluster.find_node_broken(&members[1].node);
    guarded.linger(PATIENCE);
    let said = full.wait_for_event("ReplacementStopped");
    println!("{said}");
    assert_eq!(lost(), 1, "{}", guarded.story());

    // Machines start again, but poolgate is not told.
    let_machines_start_within(&guarded, "0s");
    for claim in cluster.claims("full").iter().filter(|claim| !is_ready(claim)) {
        cluster.delete_claim(name(claim));
    }
    full.wait_until_full_without(&[members[0].claim.clone()].into());
    guarded.linger(Duration::from_mins(2));
    assert_eq!(lost(), 1, "{}", guarded.story());

    let changed = Instant::now();
    cluster.drift("full", "second");
    println!(
        "{:.1?} after the template was changed",
        full.wait_until_replaced(&members[1], changed)
    );
    full.assert_sound();
}
