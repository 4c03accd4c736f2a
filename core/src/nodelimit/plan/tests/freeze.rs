//! A pool that a user has frozen.

use proptest::prelude::*;
use serde_json::json;

use super::super::*;
use super::any::any_world;
use super::world::*;
use crate::api::Freeze;
use crate::nodelimit::ledger::ReplacedFor;

fn frozen(mut world: World, text: &str) -> World {
    world.pool.freeze = Some(Freeze::parse(text));
    world
}

/// Why each node is held, by name.
fn held(world: &World) -> Vec<(String, String)> {
    let nodes = world.claims.iter().filter_map(|machine| machine.node.as_ref());
    nodes
        .map(|node| {
            (
                node.name.to_string(),
                node.marks.held_annotation.map(HeldFor::text).unwrap_or_default(),
            )
        })
        .collect()
}

fn all_held(world: &World, why: &str) -> bool {
    held(world).iter().all(|(_, held_for)| held_for == why)
}

proptest! {
    #[test]
    fn a_frozen_pool_loses_no_node_to_poolgate(world in any_world(), text in prop::sample::select(vec!["forever", "until=2026-01-05T13:00:00Z", "no freeze, please"])) {
        let mut world = frozen(world, text);
        for _ in 0..5 {
            let plan = world.step(noon());
            prop_assert!(plan.terminate.is_empty() && plan.replace.is_none() && !plan.store_ledger);
            prop_assert!(plan.victims.is_none_or(|victims| victims.is_empty()));
            prop_assert!(plan.replacement.is_none_or(|next| next.replacement.is_none()));
        }
    }

    #[test]
    fn all_nodes_of_a_frozen_pool_that_karpenter_could_disrupt_are_marked_at_once(world in any_world()) {
        let mut world = frozen(world, "forever");
        let users: Vec<_> = world.claims.iter().map(|machine| machine.state().marks().are_users()).collect();
        world.step(noon());
        for (machine, is_users) in world.claims.iter().zip(users) {
            let (state, marks) = (machine.state(), machine.state().marks());
            let is_marked = marks.held_label && marks.do_not_disrupt && marks.held_for().freeze;
            prop_assert!(!state.is_candidate() || is_marked != is_users, "{machine:?}");
        }
        prop_assert_eq!(world.plan().hold, vec![]);
    }

    #[test]
    fn no_mark_of_a_freeze_outlasts_it(world in any_world(), is_removed in any::<bool>()) {
        let mut world = frozen(world, "until=2026-01-05T12:05:00Z");
        let plan = world.step(noon());
        prop_assert!(plan.again_at.is_some_and(|at| at <= clock(noon() + minutes(5))));
        let mut end = noon() + minutes(5);
        if is_removed {
            world.pool.freeze = None;
            end = noon() + minutes(1);
        }
        let before: Vec<_> = world.claims.iter().map(|machine| machine.state().marks()).collect();
        world.step(end);
        for (machine, before) in world.claims.iter().zip(before) {
            let marks = machine.state().marks();
            prop_assert!(!marks.held_for().freeze, "{machine:?}");
            let is_users = before.do_not_disrupt && !before.any_is_ours();
            prop_assert!(!is_users || marks.do_not_disrupt, "a user's mark is gone: {machine:?}");
        }
    }
}

#[test]
fn pools_without_a_limit_and_static_ones_are_frozen_too() {
    for spec in [
        json!({}),
        json!({"replicas": 3}),
        json!({"limits": {"nodes": "9"}, "replicas": 3}),
    ] {
        let mut world = World::from_object(&json!({
            "metadata": {"name": "general", "annotations": {"poolgate.dev/freeze": "forever"}},
            "spec": spec,
        }))
        .with_full_nodes(3);
        world.claims[0].claim.conditions.initialized = false;
        world.step(noon());
        let marked = [("node-0", ""), ("node-1", "freeze"), ("node-2", "freeze")];
        assert_eq!(
            held(&world),
            marked.map(|(node, why)| (node.into(), why.into())),
            "{spec}"
        );
        world.claims[0].claim.conditions.initialized = true;
        world.step(noon());
        assert!(all_held(&world, "freeze"));
        world.pool.freeze = None;
        world.step(noon());
        assert!(all_held(&world, ""), "{spec}");
    }
}

#[test]
fn a_pool_that_is_being_deleted_is_not_frozen() {
    let mut world = frozen(World::new(9).with_full_nodes(2), "forever");
    world.step(noon());
    world.pool.is_deleted = true;
    world.step(noon());
    assert!(all_held(&world, ""));
}

#[test]
fn a_full_pool_keeps_its_own_holds_through_a_freeze() {
    let mut world = World::new(2).with_full_nodes(2);
    world.step(noon());
    assert!(all_held(&world, "node-limit"));
    world = frozen(world, "until=2026-01-05T12:05:00Z");
    world.step(noon());
    assert!(all_held(&world, "node-limit,freeze"));
    world.step(noon() + minutes(5));
    assert!(all_held(&world, "node-limit"));
}

#[test]
fn keep_hands_a_node_over_when_a_freeze_ends() {
    let mut world = frozen(World::from_object(&json!({})).with_full_nodes(1), "forever");
    world.step(noon());
    world.claims[0].node.as_mut().unwrap().marks.keep = true;
    world.pool.freeze = None;
    let plan = world.step(noon());
    assert!(plan.unhold[0].hand_over);
    assert_eq!(world.claims[0].state().marks(), Marks { keep: true, ..USERS });
}

#[test]
fn a_node_that_is_being_disrupted_is_left_and_marked_when_that_fails() {
    let mut world = frozen(World::new(9).with_full_nodes(1), "forever");
    let tainted = world.claims[0].clone().disrupted(noon());
    let whole = std::mem::replace(&mut world.claims[0], tainted);
    assert_eq!(world.step(noon()).hold, []);
    world.claims[0] = whole;
    world.step(noon());
    assert!(all_held(&world, "freeze"));
}

#[test]
fn nodes_above_the_limit_stay_while_the_pool_is_frozen_and_the_event_says_so() {
    let mut world = frozen(World::new(1).with_full_nodes(3).terminating(), "forever");
    world.ledger.victims = vec!["uid-0".into()];
    let plan = world.step(noon());
    assert_eq!((plan.victims, plan.terminate), (Some(vec![]), vec![]));
    let [event] = plan.events.as_slice() else {
        panic!("{:?}", plan.events)
    };
    assert_eq!(
        event.message,
        "2 nodes above the limit of 1; none is terminated while the NodePool is frozen"
    );
    world.pool.freeze = None;
    assert!(
        world
            .step(noon())
            .victims
            .is_some_and(|victims| victims.len() == 2)
    );
}

#[test]
fn a_replacement_that_is_listed_is_cancelled_and_one_that_drains_goes_on() {
    let listed = |is_deleted: bool| {
        let mut world = frozen(World::new(1).with_full_nodes(1), "forever");
        world.pool.is_ready = true;
        if is_deleted {
            world.claims[0] = world.claims[0].clone().deleted();
        }
        world.ledger.replacement = Some(crate::nodelimit::ledger::Replacement {
            uid: crate::nodelimit::ledger::Uid::new(&world.claims[0].claim.uid).unwrap(),
            claim: "claim-0".into(),
            node: "node-0".into(),
            reason: ReplacedFor::Unhealthy,
            newest: 0,
        });
        world.plan()
    };
    let living = listed(false);
    assert_eq!(
        living.ended.first().map(|ended| ended.outcome),
        Some(ReplacementOutcome::Cancelled)
    );
    assert_eq!(living.replace, None);
    let draining = listed(true);
    assert!(draining.deadline.is_some() && draining.ended.is_empty());
}
