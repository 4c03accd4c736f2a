//! The numbers of a plan, and the value of `spec.limits.nodes` for a pool that leaves it to poolgate.

use std::sync::Arc;

use jiff::SignedDuration;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::*;
use super::any::any_world;
use super::world::*;
use crate::api::NodeLimitMode;
use crate::budget::Reason;
use crate::test_cost::assert_in_proportion;

fn allowed(numbers: &Numbers, reason: Reason) -> Option<u32> {
    numbers.allowed.iter().find(|(own, _)| *own == reason).unwrap().1
}

#[test]
fn hard_counts_all_claims_and_soft_those_that_stay() {
    let numbers = |mode| {
        let mut world = World::with_mode(4, mode, &json!([{"nodes": "3"}])).with_full_nodes(1);
        world.claims.push(Machine::new(1).with_pod("1").disrupted(noon()));
        world.claims.push(Machine::new(2).with_pod("1").deleted());
        world.claims.push(Machine::unlaunched(3));
        world.ledger.reservations = vec!["uid-3".into(), "unseen".into()];
        world.plan().numbers
    };
    let hard = numbers("Hard");
    assert_eq!((hard.nodes, hard.remaining, hard.excess), (4, Some(0), 0));
    assert_eq!(allowed(&hard, Reason::Drifted), Some(0));
    assert_eq!(
        allowed(&hard, Reason::Empty),
        Some(3),
        "what is empty needs no replacement"
    );
    let soft = numbers("Soft");
    assert_eq!((soft.nodes, soft.remaining), (2, Some(1)));
    assert_eq!(allowed(&soft, Reason::Drifted), Some(3));
}

#[test]
fn a_pool_without_limit_is_counted_and_left_alone() {
    let mut world = World::from_object(&json!({"metadata": {"name": "free"}, "spec": {}}));
    world.claims.push(Machine::new(0).with_pod("1"));
    let plan = world.plan();
    let numbers = &plan.numbers;
    assert_eq!(
        (numbers.nodes, numbers.limit, numbers.remaining, numbers.mode),
        (1, None, None, None)
    );
    assert_eq!(allowed(numbers, Reason::Drifted), Some(1), "10% by default");
    assert_eq!((plan.hold.len(), plan.events.len(), plan.again_at), (0, 0, None));
}

#[test]
fn allowed_disruptions_are_the_least_of_budgets_and_room() {
    let drifted = |limit, budgets| {
        let world = World::with_mode(limit, "Hard", &budgets).with_full_nodes(10);
        allowed(&world.plan().numbers, Reason::Drifted)
    };
    assert_eq!(drifted(12, json!([{"nodes": "50%"}])), Some(2));
    assert_eq!(drifted(20, json!([{"nodes": "50%"}])), Some(5));
    assert_eq!(drifted(12, json!([])), Some(2));
    assert_eq!(drifted(3, json!([])), Some(0), "never below nought");
    assert_eq!(
        drifted(20, json!([{"nodes": "ten"}])),
        Some(0),
        "Karpenter cannot read it and stops"
    );
}

#[test]
fn held_nodes_are_counted_as_they_stand() {
    let mut world = World::new(2).with_full_nodes(2);
    assert_eq!(world.step(noon()).numbers.held, 0);
    assert_eq!(world.plan().numbers.held, 2);
}

#[test]
fn a_surge_makes_no_claim_too_many_in_a_pool_that_says_no_mode() {
    let mut world = World::new(5).terminating().with_full_nodes(6);
    world.pool.mode_is_written = false;
    world.pool.surge = 1;
    let excess = |world: &World| world.plan().numbers.excess;
    assert_eq!(excess(&world), 1);
    world.claims[0].claim.conditions.disruption = Some(Disruption {
        since: noon(),
        is_repair: false,
    });
    world.ledger.surged = vec!["uid-5".into()];
    assert_eq!(excess(&world), 0);
}

#[test]
fn a_node_that_reboots_uses_up_all_budgets_and_one_that_is_not_ready_all_but_that_of_repairs() {
    let mut world = World::new(12).with_full_nodes(10);
    world.claims[0].claim.conditions = Conditions {
        rebooting: true,
        ..Conditions::default()
    };
    world.claims[1].node.as_mut().unwrap().is_ready = false;
    let state = world.state();
    let counts = Counts::of(&state.claims, &state.ledger);
    assert_eq!(counts.budgeted(), 10);
    assert_eq!(counts.consumed(Reason::Drifted), 2);
    assert_eq!(counts.consumed(Reason::Unhealthy), 1);
}

/// A pool that leaves its limit to poolgate.
fn left(limit: u32, mode: &str, written: &Value) -> World {
    World::from_object(&json!({
        "metadata": {"annotations": {"poolgate.dev/node-limit": limit.to_string()}},
        "spec": {"limits": {"nodes": written}, "disruption": {"nodeLimitMode": mode}},
    }))
}

fn written(world: &World) -> Option<u32> {
    world.plan().spec_limit()
}

/// A claim that was created at noon.
fn newer() -> Machine {
    let mut machine = Machine::unlaunched(9);
    machine.claim.created = noon();
    machine
}

#[test]
fn nodes_that_are_going_are_taken_off_a_hard_limit_and_no_other() {
    let full = |mode: &str| {
        let mut world = left(5, mode, &json!("5")).with_full_nodes(4);
        world.claims[0] = world.claims[0].clone().deleted();
        world.claims[1] = world.claims[1].clone().disrupted(noon());
        world.claims.push(newer());
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
fn a_node_without_a_replacement_is_not_going_whatever_karpenter_tries() {
    for (mode, is_repair) in [("Hard", true), ("Hard", false), ("Soft", true), ("Soft", false)] {
        let mut world = left(5, mode, &json!("5")).with_full_nodes(5);
        let mut writes = Vec::new();
        let mut look = |world: &mut World, at| writes.extend(world.step(at).spec_limit());
        for second in (0..3_600).step_by(4) {
            let at = |more: i64| noon() + SignedDuration::from_secs(second + more);
            for index in [0, 1] {
                world.claims[index] = world.claims[index].clone().tainted();
            }
            look(&mut world, at(0));
            for index in [0, 1] {
                let since = at(0);
                world.claims[index].claim.conditions.disruption = Some(Disruption { since, is_repair });
            }
            look(&mut world, at(0));
            world.denied(at(1));
            look(&mut world, at(1));
            for index in [0, 1] {
                world.claims[index].claim.conditions.disruption = None;
                look(&mut world, at(2));
                world.claims[index].node.as_mut().unwrap().taints = Arc::default();
                look(&mut world, at(2));
            }
        }
        assert_eq!(writes, [0_u32; 0], "{mode}, repair: {is_repair}");
    }
}

#[test]
fn a_node_whose_replacement_exists_is_going_whatever_else_is_denied() {
    let mut world = left(5, "Hard", &json!("5")).with_full_nodes(4);
    world.claims[1] = world.claims[1].clone().disrupted(noon());
    assert_eq!(written(&world), None, "Karpenter counts it until then");
    world.claims.push(newer());
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
    fn the_limit_that_karpenter_sees_leaves_as_much_room_as_there_is(mut world in any_world()) {
        world.pool.leaves_limit_to_poolgate = true;
        world.pool.is_static = false;
        world.pool.written_nodes = None;
        let plan = world.plan();
        let limit = world.pool.limit.unwrap();
        // Karpenter's own count: without claims that are deleted, or that it disrupts and has created a replacement for.
        let is_replaced = |machine: &Machine| {
            let since = machine.claim.conditions.disruption.map(|disruption| disruption.since);
            since.is_some_and(|since| world.claims.iter().any(|other| other.claim.created >= since))
        };
        let is_out = |machine: &&Machine| {
            machine.claim.deleted.is_some() || machine.state().is_being_disrupted() && is_replaced(machine)
        };
        let counted = world.claims.iter().filter(|machine| !is_out(machine)).count();
        let all = match limit.mode {
            NodeLimitMode::Hard => world.claims.len(),
            NodeLimitMode::Soft => counted,
        };
        let remaining = (limit.nodes as usize).saturating_sub(all);
        let seen = (plan.spec_limit().unwrap() as usize).saturating_sub(counted);
        prop_assert_eq!(seen, remaining);
        prop_assert!(plan.spec_limit().unwrap() <= limit.nodes);
        world.pool.written_nodes = plan.spec_limit();
        prop_assert_eq!(world.plan().spec_limit(), None);
    }
}

fn rollout(world: &World) -> [u32; RolloutState::ALL.len()] {
    world.plan().numbers.rollout.map(|(_, nodes)| nodes)
}

/// A pool of this template, in which everything may be disrupted.
fn of_team(team: &str) -> World {
    World::from_object(&json!({
        "metadata": {"name": "general"},
        "spec": {"limits": {"nodes": "9"}, "template": {"metadata": {"labels": {"team": team}}, "spec": {}}},
    }))
}

#[test]
fn a_node_is_outdated_by_the_hash_of_its_template_before_karpenter_says_so() {
    let made_of = |team| Machine {
        claim: Claim {
            drift_hash: of_team(team).pool.drift_hash,
            ..Machine::new(0).claim
        },
        ..Machine::new(0)
    };
    assert_ne!(made_of("blue").claim.drift_hash, None);
    for (machine, expected) in [
        (made_of("blue"), [1, 0, 0]),
        (made_of("green"), [0, 1, 0]),
        (made_of("blue").drifted(), [0, 1, 0]),
        // Karpenter has another version of the hash, or the claim is older than hashes.
        (Machine::new(0), [1, 0, 0]),
    ] {
        let mut world = of_team("blue");
        world.claims.push(machine);
        assert_eq!(rollout(&world), expected);
    }
}

#[test]
fn an_outdated_node_waits_or_is_on_its_way_out() {
    let drifted = || Machine::new(0).drifted();
    for (machine, expected) in [
        (drifted(), [0, 1, 0]),
        (drifted().held(), [0, 1, 0]),
        (drifted().disrupted(noon()), [0, 0, 1]),
        // Karpenter has yet to see that the node is held.
        (drifted().disrupted(noon()).held(), [0, 1, 0]),
        (drifted().held().deleted(), [0, 0, 1]),
        (Machine::new(0).held(), [1, 0, 0]),
        (Machine::new(0).deleted(), [1, 0, 0]),
    ] {
        let mut world = World::new(9);
        world.claims.push(machine.clone());
        assert_eq!(rollout(&world), expected, "{machine:?}");
    }
}

#[test]
fn a_plan_costs_no_more_than_its_claims_however_many_replacements_are_denied() {
    let world = |size: usize| {
        let mut world = World::new(u32::try_from(size).unwrap());
        world.pool.leaves_limit_to_poolgate = true;
        for number in 0..size {
            let machine = Machine::new(number).with_pod("4");
            world.claims.push(machine.disrupted(noon()).tainted());
        }
        world.denied(noon());
        world
    };
    assert_in_proportion(1 << 13, world, |world| {
        assert_eq!(world.plan().numbers.nodes as usize, world.claims.len());
    });
}
