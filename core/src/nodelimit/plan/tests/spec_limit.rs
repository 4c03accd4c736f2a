//! The value of `spec.limits.nodes` for a pool that leaves it to poolgate.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::any::any_world;
use super::machine::Machine;
use super::world::*;
use crate::api::NodeLimitMode;

/// A pool that leaves its limit to poolgate.
fn left(limit: u32, mode: &str, written: &Value) -> World {
    World::from_object(&json!({
        "metadata": {"annotations": {"poolgate.dev/node-limit": limit.to_string()}},
        "spec": {"limits": {"nodes": written}, "disruption": {"nodeLimitMode": mode}},
    }))
}

fn written(world: &World) -> Option<u32> {
    world.plan().spec_limit
}

#[test]
fn nodes_that_are_going_are_taken_off_a_hard_limit_and_no_other() {
    let full = |mode: &str| {
        let mut world = left(5, mode, &json!("5")).with_full_nodes(5);
        world.claims[0] = world.claims[0].clone().deleted();
        world.claims[1] = world.claims[1].clone().disrupted(noon());
        world
    };
    assert_eq!(written(&full("Hard")), Some(3));
    assert_eq!(written(&full("Soft")), None, "Karpenter counts as it does");
    let mut theirs = full("Hard");
    theirs.pool.leaves_limit_to_poolgate = false;
    assert_eq!(written(&theirs), None, "what a user wrote stays");
    let mut fixed = full("Hard");
    fixed.pool.is_static = true;
    assert_eq!(written(&fixed), None);
}

#[test]
fn a_node_whose_replacement_was_denied_is_not_going() {
    let mut world = left(5, "Hard", &json!("5")).with_full_nodes(5);
    world.claims[1] = world.claims[1].clone().disrupted(noon());
    assert_eq!(written(&world), Some(4));
    world.denied(noon());
    assert_eq!(written(&world), None, "Karpenter still counts it");
    world.step(noon());
    assert_eq!(written(&world), None, "while it is held, too");
}

#[test]
fn a_node_whose_replacement_exists_is_going_whatever_else_is_denied() {
    let mut world = left(5, "Hard", &json!("5")).with_full_nodes(4);
    world.claims[1] = world.claims[1].clone().disrupted(noon());
    let mut replacement = Machine::unlaunched(9);
    replacement.claim.created = noon();
    world.claims.push(replacement);
    assert_eq!(written(&world), Some(4));
    world.denied(noon());
    assert_eq!(written(&world), Some(4), "a pod was denied a node");
    world.step(noon());
    assert_eq!(written(&world), Some(4), "and it is held for that");
}

#[test]
fn a_wrong_value_is_corrected_and_a_right_one_is_not_written() {
    for wrong in [json!(null), json!("7"), json!("4"), json!("4500m"), json!("-5")] {
        assert_eq!(written(&left(5, "Hard", &wrong)), Some(5), "{wrong}");
    }
    for right in [json!("5"), json!(5), json!("5000m")] {
        assert_eq!(written(&left(5, "Hard", &right)), None, "{right}");
    }
    assert_eq!(written(&left(0, "Hard", &json!("0"))), None);
}

#[test]
fn more_that_are_going_than_the_limit_leave_nothing() {
    let mut world = left(1, "Hard", &json!("1"));
    world.claims = (0..3).map(|number| Machine::new(number).deleted()).collect();
    assert_eq!(written(&world), Some(0));
}

proptest! {
    #[test]
    fn karpenter_sees_as_many_places_as_there_are(mut world in any_world()) {
        world.pool.leaves_limit_to_poolgate = true;
        world.pool.is_static = false;
        world.pool.written_nodes = None;
        (world.ledger.denial, world.denied_at) = (None, None);
        let plan = world.plan();
        let limit = world.pool.limit.unwrap();
        // Karpenter's own count: without claims that are deleted or that it disrupts. One that is held was denied.
        let is_hard = world.pool.is_hard();
        let is_held = |machine: &Machine| {
            let held_for = machine.node.as_ref().map(|node| node.marks.held_for()).unwrap_or_default();
            let is_repair = machine.claim.conditions.disruption.is_some_and(|disruption| disruption.is_repair);
            is_hard && if is_repair { held_for.repair } else { held_for.node_limit }
        };
        let is_replaced = |machine: &Machine| {
            let since = machine.claim.conditions.disruption.map(|disruption| disruption.since);
            world.claims.iter().any(|other| Some(other.claim.created) >= since)
        };
        let is_tainted =
            |machine: &&Machine| machine.state().is_being_disrupted() && (!is_held(machine) || is_replaced(machine));
        let counted = world.claims.iter().filter(|machine| machine.claim.deleted.is_none() && !is_tainted(machine)).count();
        let all = match limit.mode {
            NodeLimitMode::Hard => world.claims.len(),
            NodeLimitMode::Soft => counted,
        };
        let places = (limit.nodes as usize).saturating_sub(all);
        let seen = (plan.spec_limit.unwrap() as usize).saturating_sub(counted);
        prop_assert_eq!(seen, places);
        prop_assert!(plan.spec_limit.unwrap() <= limit.nodes);
        world.pool.written_nodes = plan.spec_limit;
        prop_assert_eq!(world.plan().spec_limit, None);
    }
}
