//! Which nodes are held and unheld.

use jiff::SignedDuration;

use super::super::*;
use super::world::*;

#[test]
fn a_full_pool_is_held_and_then_nothing_is_left_to_do() {
    let mut world = World::new(5).with_full_nodes(5);
    let plan = world.step(noon());
    assert_eq!(plan.hold.len(), 5);
    let again = world.plan();
    assert_eq!((again.hold, again.unhold), (Vec::new(), Vec::new()));
}

#[test]
fn empty_nodes_stay_open_drifted_ones_too() {
    let mut world = World::new(4).with_full_nodes(2);
    world.claims.push(Machine::new(2).with(daemon()));
    world.claims.push(Machine::new(3).drifted());
    assert_eq!(names(&world.plan().hold), ["node-0", "node-1"]);
}

#[test]
fn a_waiting_pod_or_a_drain_leaves_only_empty_undrifted_nodes_open() {
    let held = |world: &World| {
        let mut held = names(&world.plan().hold)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>();
        held.sort();
        held
    };
    let mut world = World::new(6);
    world.claims.push(Machine::new(0).drifted().with_pod("1"));
    world.claims.push(Machine::new(1).drifted());
    world.claims.push(Machine::new(2));
    world.claims.push(Machine::new(3).with_pod("1"));
    world.claims.push(Machine::new(4).with_pod("1"));
    world.pool.limit.as_mut().unwrap().nodes = 5;
    assert_eq!(held(&world), ["node-3"], "the others fit on it");
    world.pending.push(needs("1"));
    assert_eq!(held(&world), ["node-0", "node-1", "node-3", "node-4"]);
    world.pending.clear();
    world.claims.push(Machine::new(5).with_pod("1").deleted());
    world.pool.limit.as_mut().unwrap().nodes = 6;
    assert_eq!(held(&world), ["node-0", "node-1", "node-3", "node-4"]);
    world.claims[5].pods[0].is_leaving = true;
    assert_eq!(
        held(&world),
        ["node-3"],
        "nothing must leave the deleted node any more"
    );
}

#[test]
fn a_pod_that_the_pool_cannot_serve_holds_no_node() {
    let mut world = World::new(2);
    world.claims.push(Machine::new(0).with_pod("1"));
    world.claims.push(Machine::new(1).with_pod("1"));
    let mut stranger = needs("1");
    stranger
        .node_selector
        .insert("example.com/team".to_owned(), "red".to_owned());
    world.pending.push(stranger);
    assert_eq!(world.plan().hold.len(), 1);
}

#[test]
fn nodes_being_disrupted_are_held_after_a_denial() {
    let before = noon() - SignedDuration::from_secs(20);
    let mut world = World::new(3).with_full_nodes(1);
    world
        .claims
        .push(Machine::new(1).drifted().with_pod("4").disrupted(before));
    let later = noon() - SignedDuration::from_secs(5);
    world
        .claims
        .push(Machine::new(2).drifted().with_pod("4").disrupted(later));
    assert_eq!(names(&world.plan().hold), ["node-0"], "nobody was denied yet");
    world.denied(noon() - SignedDuration::from_secs(10));
    let mut held = world.plan();
    held.hold.sort();
    assert_eq!(names(&held.hold), ["node-0", "node-1"]);
    world.carry_out(held, noon());
    assert_eq!(world.plan().hold.len(), 0);
    assert_eq!(
        world.plan_at(noon() + minutes(10)).unhold.len(),
        0,
        "it stays while it is tainted"
    );
}

#[test]
fn a_denial_is_not_held_against_a_disruption_that_begins_later() {
    let mut world = World::new(3).with_full_nodes(1);
    world.claims[0] = world.claims[0].clone().held();
    world.claims.push(Machine::new(1).drifted().with_pod("4"));
    world.denied(noon() - SignedDuration::from_secs(60));
    world.step(noon());
    assert_eq!(world.open(), ["node-1"], "the room is for the drifted node");
    // Karpenter taints a node first, then writes since when it disrupts it, then creates the replacement.
    world.claims[1] = world.claims[1].clone().tainted();
    let plan = world.step(noon() + SignedDuration::from_secs(1));
    assert_eq!(names(&plan.hold), [""; 0]);
    assert_eq!(released(&plan), [""; 0], "the replacement needs the room");
}

#[test]
fn a_node_without_the_condition_that_says_since_when_is_held_after_a_denial() {
    let mut world = World::new(2);
    world
        .claims
        .push(Machine::new(0).drifted().with_pod("4").tainted());
    world.claims.push(Machine::new(1).with_pod("4").held());
    world.step(noon());
    world.denied(noon() + SignedDuration::from_secs(1));
    let plan = world.step(noon() + SignedDuration::from_secs(2));
    assert_eq!(names(&plan.hold), ["node-0"]);
}

#[test]
fn a_users_mark_is_left_alone_and_takes_no_room() {
    let mut world = World::new(3).with_full_nodes(3);
    world.claims[1] = world.claims[1].clone().marked(USERS).drifted();
    assert_eq!(names(&world.plan().hold), ["node-0", "node-2"]);
    world.pool.limit.as_mut().unwrap().nodes = 5;
    assert_eq!(
        world.plan().hold.len(),
        0,
        "room for the two that are ours to hold"
    );
    assert_eq!(world.plan().unhold.len(), 0);
}

#[test]
fn a_node_that_a_user_keeps_is_not_unheld_and_its_mark_becomes_the_users() {
    let mut world = World::new(9).with_full_nodes(3);
    for machine in &mut world.claims {
        machine.node.as_mut().unwrap().marks = HELD;
    }
    world.claims[0].node.as_mut().unwrap().marks.keep = true;
    world.step(noon());
    world.step(noon() + minutes(2));
    assert_eq!(world.open(), ["node-1", "node-2"]);
    world.pool.limit.as_mut().unwrap().mode = crate::api::NodeLimitMode::Soft;
    let plan = world.step(noon() + minutes(3));
    assert!(plan.unhold[0].hand_over);
    let marks = world.claims[0].node.as_ref().unwrap().marks;
    assert_eq!(
        (marks.do_not_disrupt, marks.held_label, marks.held_annotation),
        (true, false, None)
    );
    assert_eq!(world.plan().unhold.len(), 0);
}

#[test]
fn our_marks_are_removed_where_the_pool_is_no_longer_ours_to_hold() {
    let held = || {
        let mut world = World::new(3).with_full_nodes(3);
        world.step(noon());
        world
    };
    let mut changed = [held(), held(), held(), held()];
    changed[0].pool.limit = None;
    changed[1].pool.limit.as_mut().unwrap().mode = crate::api::NodeLimitMode::Soft;
    changed[2].pool.is_static = true;
    changed[3].pool.is_deleted = true;
    for (index, world) in changed.iter_mut().enumerate() {
        let plan = world.step(noon());
        assert_eq!(released(&plan).len(), 3, "{index}");
        assert_eq!(world.open().len(), 3);
        assert_eq!(world.plan().unhold.len(), 0);
    }
}

#[test]
fn a_node_held_after_a_denial_takes_no_room() {
    let begun = noon() - SignedDuration::from_secs(30);
    let mut world = World::new(4).with_full_nodes(2);
    world
        .claims
        .push(Machine::new(2).drifted().with_pod("4").disrupted(begun));
    world.denied(noon());
    let plan = world.step(noon());
    assert_eq!(
        names(&plan.hold),
        ["node-1", "node-2"],
        "room for one of the others"
    );
    let again = world.plan();
    assert_eq!((names(&again.hold), released(&again)), (vec![], vec![]));
}

#[test]
fn a_broken_mark_is_repaired() {
    let mut world = World::new(2).with_full_nodes(2);
    world.step(noon());
    world.claims[0].node.as_mut().unwrap().marks.do_not_disrupt = false;
    world.claims[1].node.as_mut().unwrap().marks.held_label = false;
    assert_eq!(names(&world.plan().hold), ["node-0", "node-1"]);
}

#[test]
fn nodes_that_karpenter_does_not_disrupt_yet_are_left_alone() {
    let mut world = World::new(3).with_full_nodes(1);
    world.claims.push(Machine::unlaunched(1));
    let mut starting = Machine::new(2).with_pod("4");
    starting.claim.conditions.initialized = false;
    world.claims.push(starting);
    assert_eq!(names(&world.plan().hold), ["node-0"]);
}

#[test]
fn a_node_that_is_kept_counts_the_same_before_and_after_it_is_held() {
    let mut world = World::new(2);
    world.claims.push(Machine::new(0).drifted().held());
    let keep = Marks {
        keep: true,
        ..Marks::default()
    };
    world.claims.push(Machine::new(1).with_pod("1").marked(keep));
    world.pending.push(needs("1"));
    assert_eq!(names(&world.step(noon()).hold), ["node-1"]);
    assert_eq!(
        released(&world.plan()),
        [""; 0],
        "the drifted node would ask for a replacement"
    );
}
