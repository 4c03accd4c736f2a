//! What must hold of every plan.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::super::*;
use super::any::{any_world, seconds};
use super::expected::*;
use super::machine::Machine;
use super::world::*;
use crate::budget::Reason;
use crate::karpenter::NodeLimitMode;

proptest! {
    #[test]
    fn no_more_nodes_are_open_that_need_replacements_than_there_are_places(mut world in any_world()) {
        world.pool.budgets = World::of(0, "Hard", &json!([])).pool.budgets;
        if !is_governed(&world) {
            return Ok(());
        }
        let before = world.plan();
        world.carry_out(Plan { victims: None, terminate: Vec::new(), ..before }, noon());
        let open = open(&world);
        let drains = world.claims.iter().any(|machine| machine.claim.deleted.is_some() && !moving(machine).is_empty());
        if drains || !world.pending.is_empty() {
            let risky = |machine: &&Machine| machine.claim.conditions.drifted || !moving(machine).is_empty();
            let risky = open.iter().copied().filter(risky).count();
            prop_assert!(risky <= places(&world), "{risky} open while a pod waits or a node drains");
        }
        prop_assert!(need_at_most(places(&world), &world, &open), "places {}, open {:?}", places(&world), world.open());
    }

    #[test]
    fn a_plan_that_is_carried_out_leaves_nothing_to_do(mut world in any_world()) {
        for _ in 0..30 {
            let plan = world.step(noon());
            let again = world.plan();
            prop_assert!(plan.terminate.is_empty() || plan.victims.is_none());
            if plan.victims.is_none() && plan.terminate.is_empty() {
                let nothing = Plan {
                    hold: Vec::new(), unhold: Vec::new(), victims: None, terminate: Vec::new(), events: Vec::new(),
                    replacement: None, replace: None, deadline: None, ended: Vec::new(),
                    ..again.clone()
                };
                prop_assert_eq!(again, nothing);
                return Ok(());
            }
        }
        prop_assert!(false, "it goes on for ever");
    }

    #[test]
    fn what_is_a_users_is_never_touched(world in any_world()) {
        let plan = world.plan();
        for machine in &world.claims {
            let Some(node) = &machine.node else { continue };
            let is_ours = node.marks.any_is_ours();
            let is_held = plan.hold.iter().any(|held| held.node.name == node.name);
            let is_unheld = plan.unhold.iter().any(|unhold| unhold.node.name == node.name);
            prop_assert!(!(is_held && node.marks.do_not_disrupt && !is_ours));
            prop_assert!(!is_unheld || is_ours);
            prop_assert!(!(is_held && is_unheld));
            let is_kept = node.marks.keep && is_ours && is_governed(&world);
            prop_assert!(!(is_unheld && is_kept));
        }
    }

    #[test]
    fn the_order_of_what_comes_in_does_not_matter(world in any_world(), turn in any::<prop::sample::Index>()) {
        let plan = world.plan();
        let mut state = world.state();
        for claim in &mut state.claims {
            claim.pods.reverse();
        }
        let by = turn.index(state.claims.len() + 1);
        state.claims.rotate_left(by);
        state.claims.reverse();
        state.ledger.victims.reverse();
        state.ledger.reservations.reverse();
        state.pending.reverse();
        prop_assert_eq!(super::super::plan(&state, &world.remembered(), both(noon())), plan);
    }

    #[test]
    fn terminations_never_take_a_pool_below_its_limit(
        mut world in any_world(),
        changes in prop::collection::vec((0..5_u8, 0..8_usize), 0..20),
    ) {
        let soft = world.pool.limit.unwrap().mode == NodeLimitMode::Soft;
        let mut now = noon();
        for (change, index) in changes {
            let undeleted: Vec<_> = world.claims.iter().filter(|m| m.claim.deleted.is_none() && !(soft && is_tainted(m))).map(|m| Arc::clone(&m.claim.uid)).collect();
            let excess = undeleted.len().saturating_sub(world.pool.limit.unwrap().nodes as usize);
            let plan = world.step(now);
            prop_assert!(plan.terminate.len() <= excess);
            prop_assert!(world.settings.rights.may_terminate() || plan.terminate.is_empty());
            prop_assert!(plan.terminate.len() <= world.terminations_left);
            prop_assert!(plan.terminate.iter().all(|claim| undeleted.contains(&claim.uid)));
            prop_assert!(plan.victims.is_none_or(|victims| victims.len() <= excess));
            now += seconds(1);
            if index >= world.claims.len() {
                continue;
            }
            match change {
                0 => world.claims[index].claim.deleted = Some(now),
                1 => drop(world.claims.remove(index)),
                2 => world.pool.limit.as_mut().unwrap().nodes = u32::try_from(index).unwrap(),
                3 if world.claims[index].node.is_some() => {
                    world.claims[index] = world.claims[index].clone().disrupted(now);
                }
                _ => world.terminations_left = index,
            }
        }
    }

    #[test]
    fn no_number_is_beyond_its_bounds(world in any_world()) {
        let numbers = world.plan().numbers;
        let limit = world.pool.limit.unwrap();
        prop_assert!(numbers.remaining.unwrap() <= limit.nodes.saturating_sub(numbers.nodes));
        for (reason, allowed) in numbers.allowed {
            let replaces = matches!(reason, Reason::Drifted | Reason::Underutilized);
            if replaces && limit.mode == NodeLimitMode::Hard {
                prop_assert!(allowed.unwrap() <= numbers.remaining.unwrap());
            }
        }
    }
}
