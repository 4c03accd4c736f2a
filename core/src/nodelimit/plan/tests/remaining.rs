//! How many nodes are open, and whose turn it is.

use std::time::Duration;

use jiff::SignedDuration;
use serde_json::json;

use super::super::*;
use super::world::*;
use crate::nodelimit::plan::state::ROTATION;

#[test]
fn budgets_that_allow_no_more_than_there_is_room_for_hold_nothing() {
    let budgets = |budgets| {
        World::with_mode(6, "Hard", &budgets)
            .with_full_nodes(5)
            .plan()
            .hold
            .len()
    };
    assert_eq!(budgets(json!([{"nodes": "1"}])), 0);
    assert_eq!(budgets(json!([{"nodes": "0"}])), 0);
    assert_eq!(budgets(json!([{"nodes": "2"}])), 4);
    assert_eq!(
        budgets(json!([{"nodes": "2", "reasons": ["Empty"]}, {"nodes": "1"}])),
        0
    );
    assert_eq!(
        budgets(json!([{"nodes": "2"}, {"nodes": "1", "reasons": ["Drifted"]}])),
        4
    );
    assert_eq!(budgets(json!([])), 4);
}

#[test]
fn a_pool_with_room_for_fewer_nodes_than_its_budgets_let_go_at_once_holds_the_others() {
    let mut world = World::new(10).with_full_nodes(6);
    world.step(noon());
    assert_eq!(world.open().len(), 4, "as many as there is room for");
}

#[test]
fn nodes_that_become_not_ready_again_and_again_do_not_keep_those_of_a_pool_with_room_held() {
    let mut world = World::with_mode(6, "Hard", &json!([{"nodes": "10%"}])).with_full_nodes(6);
    world.step(noon());
    assert_eq!(world.open(), [""; 0]);
    world.pool.limit.as_mut().unwrap().nodes = 10;
    for second in (10..=130).step_by(10) {
        for (index, machine) in (0..).zip(&mut world.claims) {
            machine.node.as_mut().unwrap().is_ready = (second / 10 + index) % 3 != 0;
        }
        world.step(noon() + SignedDuration::from_secs(second));
    }
    assert_eq!(world.open().len(), 6);
}

#[test]
fn a_budget_in_a_window_is_looked_at_each_minute() {
    let budgets = json!([{"nodes": "1", "schedule": "0 12 * * *", "duration": "1h"}]);
    let world = World::with_mode(6, "Hard", &budgets).with_full_nodes(5);
    let plan = world.plan_at(time("2026-01-05T12:30:10Z"));
    assert_eq!(
        (plan.hold.len(), plan.again_at),
        (0, Some(clock(time("2026-01-05T12:31:00Z"))))
    );
    assert_eq!(world.plan_at(time("2026-01-05T13:00:00Z")).hold.len(), 4);
}

#[test]
fn a_disruption_under_way_uses_up_its_room_and_its_budget() {
    let begun = noon() - SignedDuration::from_secs(30);
    let mut world = World::with_mode(6, "Hard", &json!([{"nodes": "2"}])).with_full_nodes(4);
    world
        .claims
        .push(Machine::new(4).drifted().with_pod("4").disrupted(begun));
    assert_eq!(world.plan().hold.len(), 4, "the room is for its replacement");
    world.claims.push(Machine::unlaunched(5));
    world.pool.limit.as_mut().unwrap().nodes = 7;
    assert_eq!(
        world.plan().hold.len(),
        0,
        "room for one, and budgets let one more go"
    );
    world.pool.limit.as_mut().unwrap().nodes = 6;
    assert_eq!(world.plan().hold.len(), 4);
}

#[test]
fn a_repair_keeps_its_room_after_one_denial_which_may_have_been_for_a_pod() {
    let begun = noon() - SignedDuration::from_secs(30);
    let mut world = World::new(6).with_full_nodes(4);
    let mut broken = Machine::new(4).with_pod("4").disrupted(begun);
    broken.claim.conditions.disruption = Some(Disruption {
        since: begun,
        is_repair: true,
    });
    world.claims.push(broken);
    world.denied(noon() - SignedDuration::from_secs(20));
    world.step(noon());
    assert_eq!(world.open(), ["node-4"], "its replacement may still be created");
}

#[test]
fn turns_go_round_until_every_node_had_one() {
    // Karpenter checks drift every ten seconds, consolidation after five minutes at the latest.
    for (drifted, length) in [(true, ROTATION), (false, Duration::from_mins(6))] {
        let mut world = World::new(6).with_full_nodes(4);
        for claim in &mut world.claims {
            claim.claim.conditions.drifted = drifted;
        }
        // Whenever it begins, a turn has its full length.
        let begun = noon() + SignedDuration::from_secs(100);
        let mut had = Vec::new();
        for turn in 0..2 {
            let now = begun + length * turn;
            world.step(now);
            assert_eq!(world.open().len(), 2);
            had.extend(world.open().into_iter().map(str::to_owned));
            let calm = world.plan_at(now + length - SignedDuration::from_secs(1));
            assert_eq!(
                (calm.hold.len(), calm.unhold.len(), calm.again_at),
                (0, 0, Some(clock(now).plus(length))),
                "within a turn nothing changes"
            );
        }
        had.sort();
        assert_eq!(had, ["node-0", "node-1", "node-2", "node-3"]);
    }
}

#[test]
fn turns_go_only_to_nodes_that_karpenter_could_disrupt_now() {
    let mut world = World::new(4).with_full_nodes(3);
    world.claims[0].claim.conditions.drifted = true;
    world.claims[0].pods[0].do_not_disrupt = Some(DoNotDisrupt::Always);
    world.claims[1].claim.conditions.consolidatable = false;
    assert_eq!(names(&world.plan().hold), ["node-0", "node-1"]);
    world.claims[0].claim.has_grace_period = true;
    assert_eq!(names(&world.plan().hold), ["node-1", "node-2"]);
    world.pool.consolidates_underutilized = false;
    world.claims[0].claim.conditions.drifted = false;
    assert_eq!(world.plan().hold.len(), 3);
}

#[test]
fn as_many_nodes_stay_open_as_there_is_room_for_drifted_ones_first() {
    let mut world = World::new(7).with_full_nodes(5);
    for index in [3, 4] {
        world.claims[index].claim.conditions.drifted = true;
    }
    assert_eq!(names(&world.plan().hold), ["node-0", "node-1", "node-2"]);
    world.ledger.reservations.push("on-its-way".into());
    assert_eq!(names(&world.plan().hold).len(), 4, "a reservation takes room");
}

#[test]
fn a_pod_that_is_not_served_although_there_is_room_holds_nodes_for_two_minutes_only() {
    let mut world = World::new(6).with_full_nodes(5);
    world.pending.push(needs("100"));
    let plan = world.step(noon());
    assert_eq!(plan.hold.len(), 5);
    assert_eq!(plan.again_at, Some(clock(noon() + minutes(2))));
    world.step(noon() + SignedDuration::from_secs(90));
    assert_eq!(world.open(), [""; 0]);
    world.step(noon() + minutes(2));
    assert_eq!(world.open().len(), 1);
}

#[test]
fn new_room_opens_a_node_immediately_and_all_nodes_when_it_lasts() {
    let mut world = World::with_mode(5, "Hard", &json!([{"nodes": "1"}])).with_full_nodes(5);
    for machine in &mut world.claims {
        machine.claim.conditions.drifted = true;
    }
    world.step(noon());
    assert_eq!(world.open(), [""; 0]);
    world.pool.limit.as_mut().unwrap().nodes = 6;
    let plan = world.step(noon());
    assert_eq!(released(&plan), ["node-0"]);
    assert!(plan.again_at.is_some_and(|at| at <= clock(noon() + minutes(2))));
    world.step(noon() + minutes(1));
    assert_eq!(world.open().len(), 1);
    world.step(noon() + minutes(2));
    assert_eq!(world.open().len(), 5);
}

#[test]
fn a_replacement_at_a_time_holds_and_unholds_no_more_than_a_node_at_a_time() {
    let mut world = World::with_mode(21, "Hard", &json!([{"nodes": "1"}])).with_full_nodes(20);
    for machine in &mut world.claims {
        machine.node.as_mut().unwrap().marks = HELD;
        machine.claim.conditions.drifted = true;
    }
    let mut now = noon();
    let mut writes = 0;
    for round in 0..10 {
        now += SignedDuration::from_secs(40);
        let mut count = |plan: Plan| writes += plan.hold.len() + plan.unhold.len();
        count(world.step(now));
        let open = world.open()[0].to_owned();
        let index_in = |world: &World| {
            let is_it = |machine: &Machine| machine.node.as_ref().is_some_and(|node| *node.name == *open);
            world.claims.iter().position(is_it).unwrap()
        };
        let old = index_in(&world);
        world.claims[old] = world.claims[old].clone().disrupted(now);
        let mut new = Machine::new(100 + round).with_pod("4");
        new.claim.created = now;
        world.claims.push(new);
        count(world.step(now));
        let old = index_in(&world);
        world.claims[old].claim.deleted = Some(now);
        world.claims[old].claim.conditions.instance_terminating = true;
        world.claims[old].pods.clear();
        count(world.step(now));
        let old = index_in(&world);
        world.claims.remove(old);
    }
    assert!(writes <= 3 * 10, "{writes} writes");
}
