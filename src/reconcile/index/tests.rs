use std::sync::Arc;
use std::time::Duration;

use poolgate_core::api::{NodeLimitMode, OverLimit};
use poolgate_core::nodelimit::ledger::{Moment, ReplacedFor, Replacement, Uid};
use poolgate_core::nodelimit::plan::{LastDenial, LedgerIdentity, LedgerState, PoolState};
use poolgate_core::policy::Policy;
use serde_json::{Value, json};

use super::*;
use crate::cluster::ledgers::Owner;
use crate::cluster::objects::{ClaimObject, Key, NodeObject, PodObject, PoolObject};

mod memory;

const FEW: IndexBounds = IndexBounds {
    pools: 2,
    claims: 2,
    nodes: 2,
    pods: 2,
};

struct World {
    index: Index,
    now: Moment,
}

impl World {
    fn new(bounds: IndexBounds) -> Self {
        Self {
            index: Index::new(Arc::new(Policy::default()), bounds),
            now: Moment::default(),
        }
    }

    fn pool(&mut self, name: &str, limit: &Value) {
        let pool = json!({"metadata": {"name": name, "uid": name}, "spec": {"limits": {"nodes": limit}}});
        self.index
            .put_pool(&serde_json::from_value::<PoolObject>(pool).expect("a pool"));
    }

    fn claim(&mut self, pool: &str, name: &str) {
        let claim = json!({
            "metadata": {"name": name, "uid": name, "labels": {"karpenter.sh/nodepool": pool}},
            "status": {"providerID": format!("machine-{name}")},
        });
        let claim: ClaimObject = serde_json::from_value(claim).expect("a claim");
        self.index.put_claim(claim, self.now);
    }

    fn node(&mut self, pool: &str, name: &str, is_held: bool) {
        let mut node = json!({
            "metadata": {"name": name, "uid": name, "labels": {"karpenter.sh/nodepool": pool, "zone": "a"}},
            "spec": {"providerID": format!("machine-{name}")},
        });
        if is_held {
            node["metadata"]["labels"]["poolgate.dev/held"] = json!("true");
        }
        let node: NodeObject = serde_json::from_value(node).expect("a node");
        self.index.keep_selected_labels();
        self.index.put_node(node);
    }

    fn pod(&mut self, name: &str, spec: &Value) {
        let condition = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable"});
        let pod = json!({"metadata": {"uid": name}, "spec": spec, "status": {"conditions": [condition]}});
        let pod: PodObject = serde_json::from_value(pod).expect("a pod");
        self.index.put_pod(pod);
    }

    fn changed(&mut self) -> Vec<String> {
        self.index
            .take_changed()
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    /// For each claim of a pool: its name, the name of its node, and how many pods are on it.
    fn claims(&self, pool: &str) -> Vec<(String, Option<String>, usize)> {
        let snapshot = self.index.snapshot(pool);
        let state: PoolState<'_> = snapshot.state();
        let mut claims: Vec<_> = state
            .claims
            .iter()
            .map(|claim| {
                let node = claim.node.map(|node| node.name.to_string());
                (claim.claim.name.to_string(), node, claim.pods.len())
            })
            .collect();
        claims.sort();
        claims
    }
}

fn on(node: &str) -> Value {
    json!({"nodeName": node})
}

/// A pool of this name, as the owner of its ledger.
fn owner(name: &str) -> Owner<'_> {
    Owner { name, uid: name }
}

#[test]
fn a_claim_is_found_with_its_node_and_pods_in_whatever_order_they_come() {
    let orders: [[usize; 4]; 4] = [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]];
    for order in orders {
        let mut world = World::new(BOUNDS);
        for step in order {
            match step {
                0 => world.pool("general", &json!(5)),
                1 => world.claim("general", "a"),
                2 => world.node("general", "a", false),
                _ => world.pod("pod", &on("a")),
            }
        }
        let expected = vec![("a".to_owned(), Some("a".to_owned()), 1)];
        assert_eq!(world.claims("general"), expected, "{order:?}");
        assert_eq!(world.changed(), ["general"], "{order:?}");
    }
}

#[test]
fn of_a_pool_without_a_limit_only_claims_are_news() {
    let mut world = World::new(BOUNDS);
    world.pool("limited", &json!(5));
    world.pool("free", &json!(null));
    world.claim("free", "f");
    assert_eq!(world.changed(), ["free", "limited"]);
    world.node("free", "f", false);
    world.pod("f", &on("f"));
    assert!(world.changed().is_empty(), "nothing is done about its nodes");
    world.claim("limited", "a");
    assert_eq!(world.changed(), ["limited"]);
    world.claim("limited", "a");
    world.node("free", "f", false);
    world.pool("limited", &json!(5));
    assert!(world.changed().is_empty(), "nothing has changed");
    world.pool("free", &json!(7));
    assert_eq!(world.changed(), ["free"]);
    world.index.remove_claim("f");
    assert_eq!(world.changed(), ["free"]);
    let ledger = LedgerState {
        victims: vec!["a".into()],
        ..LedgerState::default()
    };
    world.index.set_ledger(owner("limited"), ledger, None);
    assert_eq!(world.changed(), ["limited"]);
}

#[test]
fn nodes_of_a_frozen_pool_are_news_with_a_limit_or_without() {
    let mut world = World::new(BOUNDS);
    let annotations = json!({"poolgate.dev/freeze": "forever"});
    let pool = json!({"metadata": {"name": "free", "uid": "free", "annotations": annotations}, "spec": {}});
    world
        .index
        .put_pool(&serde_json::from_value(pool).expect("a pool"));
    assert_eq!(world.changed(), ["free"]);
    world.claim("free", "f");
    assert_eq!(world.changed(), ["free"]);
    world.node("free", "f", false);
    assert_eq!(world.changed(), ["free"]);
}

#[test]
fn marks_are_looked_after_whatever_becomes_of_pool_and_claim() {
    let mut world = World::new(BOUNDS);
    world.pool("general", &json!(5));
    world.claim("general", "a");
    world.node("general", "a", true);
    world.changed();
    assert!(world.index.snapshot("general").strays.is_empty());
    world.index.remove_claim("a");
    assert_eq!(world.index.snapshot("general").strays.len(), 1);
    assert_eq!(world.changed(), ["general"]);
    world.index.remove_pool("general");
    assert_eq!(world.changed(), ["general"]);
    assert_eq!(world.index.all_pools().len(), 1);
    let snapshot = world.index.snapshot("general");
    assert!(!snapshot.exists && !snapshot.is_over());
    world.index.remove_node("a");
    assert!(world.index.snapshot("general").is_over());
    assert_eq!(world.index.marked_nodes(), 0);
}

#[test]
fn a_claim_is_as_old_as_it_has_been_seen_whatever_it_says() {
    let mut world = World::new(BOUNDS);
    world.pool("general", &json!(1));
    let at = |second| Moment::at(Duration::from_secs(second));
    world.now = at(60);
    world.claim("general", "a");
    assert_eq!(
        world.index.snapshot("general").grown_at(),
        at(0),
        "within its limit"
    );
    world.now = at(70);
    world.claim("general", "b");
    assert_eq!(world.index.snapshot("general").grown_at(), at(70));
    world.now = at(80);
    world.index.remove_claim("a");
    let unlaunched =
        json!({"metadata": {"name": "b", "uid": "b", "labels": {"karpenter.sh/nodepool": "general"}}});
    let unlaunched: ClaimObject = serde_json::from_value(unlaunched).expect("a claim");
    world.index.put_claim(unlaunched, world.now);
    world.pool("general", &json!(0));
    assert_eq!(
        world.index.snapshot("general").grown_at(),
        at(70),
        "changed, not new"
    );
}

#[test]
fn a_denial_is_as_old_as_it_has_been_seen_whatever_the_ledger_says() {
    let mut world = World::new(BOUNDS);
    world.pool("general", &json!(1));
    let at = |second| Some(Moment::at(Duration::from_secs(second)));
    let mut denied_at = |total: Option<u64>, changed_at| {
        let denial = total.map(|total| LastDenial {
            at: jiff::Timestamp::MAX,
            total,
        });
        let victims = vec![format!("at-{changed_at:?}").into()];
        let ledger = LedgerState {
            denial,
            victims,
            ..LedgerState::default()
        };
        world.index.set_ledger(owner("general"), ledger, changed_at);
        let snapshot = world.index.snapshot("general");
        snapshot.state().denied_at
    };
    assert_eq!(denied_at(Some(7), None), None, "it was there before");
    assert_eq!(denied_at(Some(7), at(60)), None, "something else has changed");
    assert_eq!(denied_at(Some(8), at(70)), at(70));
    assert_eq!(denied_at(Some(8), at(80)), at(70));
    assert_eq!(
        denied_at(Some(1), at(90)),
        at(90),
        "another ledger counts from zero"
    );
    world.index.ledgers.remove("general");
    let ledger = LedgerState {
        denial: Some(LastDenial {
            at: jiff::Timestamp::MIN,
            total: 1,
        }),
        ..LedgerState::default()
    };
    world.index.set_ledger(owner("general"), ledger, at(95));
    let snapshot = world.index.snapshot("general");
    assert_eq!(snapshot.state().denied_at, at(95), "the first is one, too");
}

#[test]
fn the_ledger_of_a_pool_that_was_created_again_is_not_that_of_the_pool_before() {
    let mut world = World::new(BOUNDS);
    world.pool("general", &json!(1));
    world.pool("other", &json!(1));
    let before = Owner {
        name: "general",
        uid: "before",
    };
    let drifted = Replacement {
        uid: Uid::new("a").expect("a uid"),
        claim: "a".into(),
        node: "a".into(),
        reason: ReplacedFor::Drifted,
        newest: 1,
    };
    let ledger = LedgerState {
        victims: vec!["a".into()],
        replacement: Some(drifted),
        ..LedgerState::default()
    };
    world.index.set_ledger(before, ledger.clone(), None);
    assert_eq!(world.index.snapshot("general").ledger, LedgerState::default());
    assert!(!world.index.replaces_drifted_outside("other"));
    world.index.set_ledger(owner("general"), ledger.clone(), None);
    assert_eq!(world.index.snapshot("general").ledger, ledger);
    assert!(world.index.replaces_drifted_outside("other"));
}

#[test]
fn a_ledger_that_takes_the_place_of_another_is_noticed_even_if_no_plan_is_made_in_between() {
    let mut world = World::new(BOUNDS);
    world.pool("general", &json!(1));
    let mut identified_at = |object: &str, closed_over, seconds: Option<u64>| {
        let at = seconds.map(|seconds| Moment::at(Duration::from_secs(seconds)));
        let object = object.into();
        let ledger = LedgerState {
            identity: Some(LedgerIdentity { object, closed_over }),
            ..LedgerState::default()
        };
        world.index.set_ledger(owner("general"), ledger, at);
        let at = world.index.snapshot("general").ledger_identified_at;
        at.map(|at| at.since(Moment::default()).as_secs())
    };
    assert_eq!(identified_at("a", None, None), None, "it was there before");
    assert_eq!(identified_at("a", None, Some(1)), None);
    assert_eq!(identified_at("a", Some(7), Some(2)), Some(2), "closed");
    assert_eq!(identified_at("a", Some(8), Some(3)), Some(3), "closed again");
    assert_eq!(identified_at("a", None, Some(4)), Some(4), "opened");
    assert_eq!(identified_at("b", None, Some(5)), Some(5), "lost");
}

#[test]
fn pods_without_a_place_concern_every_limited_pool_once_for_each_kind() {
    let mut world = World::new(BOUNDS);
    world.pool("a", &json!(5));
    world.pool("b", &json!(5));
    world.changed();
    let kind = || json!({"nodeSelector": {"zone": "a"}});
    world.pod("first", &kind());
    assert_eq!(world.changed(), ["a", "b"]);
    world.pod("second", &kind());
    assert!(world.changed().is_empty(), "one more of the same");
    world.pod(
        "first",
        &json!({"nodeName": "elsewhere", "nodeSelector": {"zone": "a"}}),
    );
    assert!(world.changed().is_empty(), "one is left");
    world.index.remove_pod(Key::of("second"));
    assert_eq!(world.changed(), ["a", "b"]);
}

#[test]
fn labels_are_kept_once_a_pod_selects_by_them() {
    let mut world = World::new(BOUNDS);
    world.pool("general", &json!(5));
    world.claim("general", "a");
    world.node("general", "a", false);
    let zone = |world: &World| {
        let seen = world.index.nodes.get("a").expect("a node");
        seen.node.labels.get("zone").cloned()
    };
    assert_eq!(zone(&world), None);
    assert!(!world.index.wants_other_labels());
    world.pod("pod", &json!({"nodeName": "a", "nodeSelector": {"zone": "a"}}));
    assert!(world.index.wants_other_labels());
    world.node("general", "a", false);
    assert_eq!(zone(&world).as_deref(), Some("a"));
    assert!(!world.index.wants_other_labels());
}

#[test]
fn of_equal_pods_each_goes_alone() {
    let mut world = World::new(BOUNDS);
    world.pool("general", &json!(5));
    world.claim("general", "a");
    world.node("general", "a", false);
    for name in ["first", "second"] {
        world.pod(name, &on("a"));
    }
    let snapshot = world.index.snapshot("general");
    let state = snapshot.state();
    assert!(
        matches!(*state.claims[0].pods, [one, other] if std::ptr::eq(one, other)),
        "what is equal is kept once"
    );
    world.changed();
    world.pod("second", &on("a"));
    assert!(world.changed().is_empty(), "nothing has changed");
    world.index.remove_pod(Key::of("first"));
    assert_eq!(
        world.claims("general"),
        [("a".to_owned(), Some("a".to_owned()), 1)]
    );
    world.index.remove_pod(Key::of("first"));
    world.index.remove_pod(Key::of("second"));
    assert_eq!(
        world.claims("general"),
        [("a".to_owned(), Some("a".to_owned()), 0)]
    );
    assert_eq!(world.index.placements.len() + world.index.pods_on.len(), 0);
}

#[test]
fn more_than_is_kept_is_reported_and_nothing_is_whole_then() {
    let mut world = World::new(FEW);
    for name in ["a", "b"] {
        world.pool(name, &json!(1));
        world.claim("a", name);
        world.node("a", name, false);
        world.pod(name, &on(name));
    }
    assert!(world.index.is_whole());
    world.pod("a", &on("b"));
    assert!(world.index.is_whole(), "a pod that moves is no new one");
    world.claim("a", "c");
    assert!(!world.index.is_whole());
    assert_eq!(world.claims("a").len(), 2);
}

#[test]
fn another_policy_changes_what_a_pool_leaves_to_it_and_not_the_mode() {
    let mut world = World::new(BOUNDS);
    world.pool("general", &json!(5));
    let mut policy = Policy {
        over_limit: OverLimit::Terminate,
        ..Policy::default()
    };
    policy.defaults.node_limit_mode = NodeLimitMode::Soft;
    world.index.set_policy(Arc::new(policy));
    let limit = world.index.snapshot("general").pool.limit.expect("a limit");
    assert_eq!(
        (limit.mode, limit.over_limit),
        (NodeLimitMode::Hard, OverLimit::Terminate)
    );
}
