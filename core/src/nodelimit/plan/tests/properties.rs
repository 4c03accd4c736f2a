//! What must hold of every plan.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::super::*;
use super::any::{any_world, seconds};
use super::world::*;
use crate::api::NodeLimitMode;
use crate::budget::Reason;
use crate::facts::DISRUPTED_TAINT;

proptest! {
    #[test]
    fn open_nodes_that_need_replacements_are_no_more_than_there_is_room_for(mut world in any_world()) {
        world.pool.budgets = World::with_mode(0, "Hard", &json!([])).pool.budgets;
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
            prop_assert!(risky <= remaining(&world), "{risky} open while a pod waits or a node drains");
        }
        prop_assert!(need_at_most(remaining(&world), &world, &open), "room for {}, open {:?}", remaining(&world), world.open());
    }

    #[test]
    fn a_plan_that_is_carried_out_leaves_nothing_to_do(mut world in any_world()) {
        for _ in 0..30 {
            let plan = world.step(noon());
            let again = world.plan();
            prop_assert!(plan.terminate.is_empty() || plan.victims.is_none());
            prop_assert!(plan.replace.is_none() || plan.replacement.is_none());
            prop_assert!(plan.replace.is_none() || plan.terminate.is_empty());
            let is_listing = plan.victims.is_some() || plan.store_ledger || plan.replacement.is_some();
            let is_deleting = !plan.terminate.is_empty() || plan.replace.is_some() || plan.deadline.is_some();
            if !is_listing && !is_deleting {
                let nothing = Plan {
                    hold: Vec::new(), unhold: Vec::new(), victims: None, terminate: Vec::new(), events: Vec::new(),
                    replacement: None, replace: None, deadline: None, ended: Vec::new(),
                    ..again.clone()
                };
                prop_assert_eq!(again, nothing);
                return Ok(());
            }
        }
        prop_assert!(false, "it never ends");
    }

    #[test]
    fn marks_of_users_are_never_touched(world in any_world()) {
        let plan = world.plan();
        for machine in &world.claims {
            let Some(node) = &machine.node else { continue };
            let is_ours = node.marks.any_is_ours();
            let reasons = plan.hold.iter().find(|held| held.node.name == node.name).map(|held| held.reasons);
            let is_held = reasons.is_some_and(|reasons| reasons.node_limit);
            prop_assert!(!(reasons.is_some_and(|reasons| reasons.repair) && node.marks.forbid_repair()));
            let is_unheld = plan.unhold.iter().any(|unhold| unhold.node.name == node.name);
            prop_assert!(!(is_held && node.marks.do_not_disrupt && !is_ours));
            prop_assert!(!is_unheld || is_ours);
            prop_assert!(!(is_held && is_unheld));
            let is_kept = node.marks.keep && is_ours && is_governed(&world);
            prop_assert!(!(is_unheld && is_kept));
        }
    }

    #[test]
    fn plans_do_not_depend_on_the_order_of_lists(world in any_world(), turn in any::<prop::sample::Index>()) {
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
    fn deletions_need_an_open_ledger(world in any_world()) {
        let plan = world.plan();
        let lists = plan.replacement.is_some_and(|next| next.replacement.is_some());
        let deletes = !plan.terminate.is_empty() || plan.replace.is_some() || lists;
        let adds = plan.victims.is_some_and(|victims| !victims.is_empty());
        prop_assert!(world.ledger.is_open() || !(deletes || adds));
        prop_assert!(!plan.store_ledger || world.ledger == LedgerState::default());
    }

    #[test]
    fn numbers_stay_within_their_bounds(world in any_world()) {
        let numbers = world.plan().numbers;
        let limit = world.pool.limit.unwrap();
        prop_assert!(numbers.remaining.unwrap() <= limit.nodes.saturating_sub(numbers.nodes));
        let claims: u32 = numbers.rollout.iter().map(|(_, nodes)| nodes).sum();
        prop_assert_eq!(claims as usize, world.claims.len());
        for (reason, allowed) in numbers.allowed {
            let replaces = reason != Reason::Empty;
            if replaces && limit.mode == NodeLimitMode::Hard {
                prop_assert!(allowed.unwrap() <= numbers.remaining.unwrap() + world.pool.surge);
            }
        }
    }

    /// Karpenter tries, the gate denies, nodes recover and break, the limit and the reconciler change: whatever comes, a
    /// node is deleted only after two tries that this replica saw, at a limit that has lasted and is reached exactly, and
    /// one at a time.
    #[test]
    fn a_node_is_replaced_only_if_its_repair_is_stuck_at_a_limit_that_is_reached_and_has_lasted(
        events in prop::collection::vec((0..12_u8, 0..4_usize, 1..40_i64), 1..60),
    ) {
        let mut world = World::new(4).with_full_nodes(4);
        world.pool.is_ready = true;
        world.settings.settle = std::time::Duration::from_secs(30);
        let (mut now, mut limited_since, mut steady_since) = (noon(), noon(), noon());
        world.steady_since = Some(clock(steady_since));
        world.step(now);
        let mut tries: Vec<Vec<jiff::Timestamp>> = vec![Vec::new(); 4];
        let mut next = 4;
        for (event, index, wait) in events {
            let index = index.min(world.claims.len().saturating_sub(1));
            let is_there = index < world.claims.len();
            match event {
                0..=4 if is_there && world.may_be_tried(index) => {
                    world.try_to_repair(index, now);
                    tries[index].push(now);
                }
                5 if is_there => {
                    world.give_up_on(index);
                    tries[index].clear();
                }
                6 => {
                    let limit = world.pool.limit.as_mut().unwrap();
                    limit.nodes = if limit.nodes == 4 { 9 } else { 4 };
                    limited_since = now;
                }
                7 => {
                    // Another replica leads: it remembers nothing, and its watches have just begun.
                    world.memory = Memory::default();
                    steady_since = now;
                    world.steady_since = Some(clock(now));
                    for (machine, tries) in world.claims.iter_mut().zip(&mut tries) {
                        machine.tries = None;
                        tries.clear();
                    }
                }
                8 if is_there && world.claims[index].claim.deleted.is_some() => {
                    world.claims.remove(index);
                    tries.remove(index);
                }
                9 if world.claims.len() < 4 => {
                    let mut machine = Machine::new(next).with_pod("4");
                    next += 1;
                    machine.claim.created = now;
                    machine.claim.conditions.initialized = wait % 2 == 0;
                    world.claims.push(machine);
                    tries.push(Vec::new());
                }
                10 => world.pool.is_ready = !world.pool.is_ready,
                11 => now += seconds(60),
                _ => {}
            }
            let living = world.claims.iter().filter(|machine| machine.claim.deleted.is_none()).count();
            let plan = world.step(now);
            if let Some(claim) = &plan.replace {
                let index = world.claims.iter().position(|machine| machine.claim.uid == claim.uid).unwrap();
                let seen = &tries[index];
                prop_assert!(seen.len() >= 2 && now.duration_since(*seen.last().unwrap()) <= seconds(60), "{seen:?}");
                let settle = seconds(30);
                prop_assert!(now.duration_since(limited_since) >= settle || limited_since == noon());
                prop_assert!(now.duration_since(steady_since) >= settle);
                prop_assert!(world.pool.is_ready);
                prop_assert_eq!(world.claims.len(), world.pool.limit.unwrap().nodes as usize);
                prop_assert_eq!(living, world.claims.len(), "nothing else is on its way out");
            }
            now += seconds(wait);
        }
    }
}

/// Whether pods fit into what is left of nodes, by trying every way.
fn pack(pods: &[&Pod], rooms: &mut [(&Machine, i64)]) -> bool {
    let Some((pod, others)) = pods.split_first() else {
        return true;
    };
    let cpu = pod.needs.requests.amount("cpu");
    (0..rooms.len()).any(|index| {
        let (host, left) = rooms[index];
        let node = host.node.as_ref().unwrap();
        let tolerates = node.taints.iter().all(|taint| {
            pod.needs
                .tolerations
                .iter()
                .any(|own| own.key.as_ref() == Some(&taint.key))
        });
        if pod.needs.is_bound() || left < cpu || !tolerates {
            return false;
        }
        rooms[index].1 -= cpu;
        let fits = pack(others, rooms);
        rooms[index].1 += cpu;
        fits
    })
}

fn moving(machine: &Machine) -> Vec<&Pod> {
    let stays = |pod: &&Pod| pod.is_daemon || pod.is_mirror || pod.is_terminal || pod.is_leaving;
    machine.pods.iter().filter(|pod| !stays(pod)).collect()
}

fn left(machine: &Machine) -> i64 {
    let used = machine
        .pods
        .iter()
        .filter(|pod| !pod.is_terminal)
        .map(|pod| pod.needs.requests.amount("cpu"));
    4_000 - used.sum::<i64>()
}

/// Whether Karpenter is disrupting it. A reboot is not a disruption.
fn is_tainted(machine: &Machine) -> bool {
    !machine.claim.conditions.rebooting
        && machine
            .node
            .as_ref()
            .is_some_and(|node| node.taints.iter().any(|taint| taint.key == DISRUPTED_TAINT))
}

fn is_protected(machine: &Machine) -> bool {
    let marks = machine.node.as_ref().unwrap().marks;
    let disruption = machine.claim.conditions.disruption;
    if disruption.is_some_and(|disruption| disruption.is_repair) {
        marks.do_not_repair
    } else {
        marks.do_not_disrupt
    }
}

/// The nodes that Karpenter could disrupt.
fn open(world: &World) -> Vec<&Machine> {
    let is_open = |machine: &&Machine| {
        let conditions = machine.claim.conditions;
        let is_candidate = machine.claim.deleted.is_none() && conditions.initialized && !conditions.rebooting;
        is_candidate
            && !is_tainted(machine)
            && machine
                .node
                .as_ref()
                .is_some_and(|node| !node.marks.do_not_disrupt)
    };
    world.claims.iter().filter(is_open).collect()
}

/// How many replacements there is room for, minus those to come.
fn remaining(world: &World) -> usize {
    let mut uids: BTreeSet<&str> = world.claims.iter().map(|machine| &*machine.claim.uid).collect();
    let claims = uids.len();
    uids.extend(world.ledger.reservations.iter().map(|uid| &**uid));
    // What was tried again has failed before, if the gate denied since then.
    let is_denied = |machine: &Machine| {
        let has_failed = |tries: Tries| tries.have_failed() && world.denied_at >= Some(tries.first);
        machine.tries.is_some_and(has_failed)
    };
    let limit = (world.pool.limit.unwrap().nodes + world.pool.surge) as usize;
    let free = limit.saturating_sub(uids.len());
    let is_begun = |machine: &&Machine| {
        machine.claim.deleted.is_none()
            && is_tainted(machine)
            && !is_protected(machine)
            && !is_denied(machine)
    };
    let mut begun: Vec<_> = world
        .claims
        .iter()
        .filter(is_begun)
        .map(|m| {
            m.claim
                .conditions
                .disruption
                .map_or(jiff::Timestamp::MAX, |disruption| disruption.since)
        })
        .collect();
    begun.sort();
    let mut made: Vec<_> = world
        .claims
        .iter()
        .filter(|m| m.claim.deleted.is_none())
        .map(|m| m.claim.created)
        .collect();
    made.extend(std::iter::repeat_n(jiff::Timestamp::MAX, uids.len() - claims));
    // As many pairs as possible: the latest disruptions are the hardest to match.
    let mut waiting = 0;
    while let Some(since) = begun.pop() {
        match made.iter().position(|created| *created >= since) {
            Some(index) => drop(made.remove(index)),
            None => waiting += 1,
        }
    }
    free.saturating_sub(waiting)
}

fn is_governed(world: &World) -> bool {
    let is_hard = world.pool.limit.unwrap().mode == NodeLimitMode::Hard;
    is_hard && !world.pool.is_static
}

/// Whether so few of these nodes need replacements: the pods of all others fit together on nodes that stay.
fn need_at_most(remaining: usize, world: &World, open: &[&Machine]) -> bool {
    let full: Vec<&Machine> = open
        .iter()
        .copied()
        .filter(|machine| !moving(machine).is_empty())
        .collect();
    (0..1_u32 << full.len())
        .filter(|set| set.count_ones() as usize <= remaining)
        .any(|set| {
            let leave = |index: usize| set & (1 << index) == 0;
            let pods: Vec<&Pod> = full
                .iter()
                .enumerate()
                .filter(|(index, _)| leave(*index))
                .flat_map(|(_, m)| moving(m))
                .collect();
            let stays = |machine: &&Machine| {
                let node = machine.node.as_ref();
                let usable = node.is_some_and(|node| node.is_ready && !node.is_cordoned);
                let is_open = open.iter().any(|open| open.claim.uid == machine.claim.uid);
                usable
                    && !is_open
                    && !is_tainted(machine)
                    && machine.claim.deleted.is_none()
                    && machine.claim.conditions.initialized
            };
            let mut rooms: Vec<_> = world
                .claims
                .iter()
                .filter(stays)
                .map(|machine| (machine, left(machine)))
                .collect();
            pack(&pods, &mut rooms)
        })
}
