//! Pods that must not be evicted from a broken node: its drain ends all the same.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::super::full_pool::{FullPool, Member};
use super::super::guarded::Guarded;
use super::{hard_pool, policy};
use crate::support::karpenter::NodeRepair;
use crate::support::karpenter::objects::{disruption_budget, one_pod_a_node};
use crate::support::nodepool::merge;
use crate::support::recording::{is_going, name};

const LIMIT: usize = 3;

/// A full pool whose pods may not be evicted at all, and say so themselves.
fn stubborn<'g>(guarded: &'g Guarded, name: &str, template: &Value) -> FullPool<'g> {
    let cluster = &guarded.cluster;
    let mut pool = hard_pool(name, LIMIT);
    merge(&mut pool["spec"], &json!({"template": {"spec": template}}));
    let mut deployment = one_pod_a_node(name, name, 3);
    deployment["spec"]["template"]["metadata"]["annotations"] =
        json!({"karpenter.sh/do-not-disrupt": "true"});
    let budget = disruption_budget(name, 0);
    cluster.create_in_default("policy/v1", "poddisruptionbudgets", &budget);
    FullPool::fill_with(guarded, &pool, LIMIT, &deployment)
}

/// Lets a node break and be replaced; how long after its deletion its drain was to end.
fn replace(guarded: &Guarded, full: &FullPool<'_>) -> SignedDuration {
    let broken = &full.members()[0];
    let begun = Instant::now();
    guarded.cluster.find_node_broken(&broken.node);
    println!("{:.1?}", full.wait_until_replaced(broken, begun));
    full.assert_sound();
    let deadline = full.deadline(broken);
    let deadline = deadline.unwrap_or_else(|| panic!("no deadline\n{}", guarded.story()));
    let deadline: Timestamp = deadline.parse().expect("a time");
    deadline.duration_since(deletion(guarded, full, broken))
}

/// When a NodeClaim was deleted.
fn deletion(guarded: &Guarded, full: &FullPool<'_>, member: &Member) -> Timestamp {
    let changes = full.claims.changes(guarded.cluster.client());
    let mut claims = changes.iter().map(|change| &change.object);
    let deleted = claims.find(|claim| name(claim) == member.claim && is_going(claim));
    let at = &deleted.expect("a deletion")["metadata"]["deletionTimestamp"];
    at.as_str().and_then(|at| at.parse().ok()).expect("a time")
}

#[test]
#[ignore = "long: .ci/nightly"]
fn pods_that_must_not_be_evicted_keep_a_broken_node_no_longer_than_the_policy_lets_them() {
    let (_directory, policy) = policy("repairGracePeriod: 20s");
    let guarded = Guarded::start_repairing(NodeRepair::On, &["--settle=5s", &policy]);
    let bound = replace(&guarded, &stubborn(&guarded, "bounded", &json!({})));
    // Times of the API server are whole seconds.
    let of_policy = Duration::from_secs(19)..=Duration::from_secs(21);
    assert!(
        of_policy.contains(&bound.unsigned_abs()),
        "{bound}\n{}",
        guarded.story()
    );

    // A pool's own bound counts, also where it is the longer one.
    let own = json!({"terminationGracePeriod": "40s"});
    let bound = replace(&guarded, &stubborn(&guarded, "graced", &own));
    assert!(
        bound >= SignedDuration::from_secs(39),
        "{bound}\n{}",
        guarded.story()
    );
}
