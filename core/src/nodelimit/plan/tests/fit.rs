//! Which nodes may be disrupted because their pods fit elsewhere.

use std::sync::Arc;

use super::super::*;
use super::world::*;
use crate::pods::*;

fn held(world: &World) -> Vec<String> {
    let plan = world.plan();
    let mut held: Vec<_> = names(&plan.hold).into_iter().map(str::to_owned).collect();
    held.sort();
    held
}

fn half_empty(count: usize) -> World {
    let mut world = World::new(u32::try_from(count).unwrap());
    world.claims = (0..count)
        .map(|index| Machine::new(index).with_pod("1"))
        .collect();
    world
}

#[test]
fn nodes_whose_pods_all_fit_together_on_the_others_stay_open() {
    assert_eq!(
        held(&half_empty(4)).len(),
        1,
        "four pods of one CPU on a node of four"
    );
    assert_eq!(held(&half_empty(5)).len(), 2);
    let mut world = half_empty(2);
    world.claims[1] = Machine::new(1).with_pod("3").with(pod("1"));
    assert_eq!(
        held(&world),
        ["node-0", "node-1"],
        "neither has room for the other"
    );
}

#[test]
fn a_pod_that_is_bound_keeps_its_node() {
    let mut bound = half_empty(2);
    for machine in &mut bound.claims {
        Arc::make_mut(&mut machine.pods[0].needs).others.volumes = true;
    }
    assert_eq!(held(&bound).len(), 2);
}

#[test]
fn selectors_taints_and_the_number_of_pods_are_honoured() {
    let mut selecting = half_empty(2);
    for machine in &mut selecting.claims {
        let host = machine.node.as_ref().unwrap().labels["kubernetes.io/hostname"].clone();
        let needs = Arc::make_mut(&mut machine.pods[0].needs);
        needs
            .node_selector
            .insert("kubernetes.io/hostname".to_owned(), host);
    }
    assert_eq!(held(&selecting).len(), 2);

    let mut tainted = half_empty(2);
    for machine in &mut tainted.claims {
        let key = "team".to_owned();
        let (value, effect) = ("red".to_owned(), Effect::NoSchedule);
        machine
            .node
            .as_mut()
            .unwrap()
            .taint(NodeTaint { key, value, effect });
    }
    assert_eq!(held(&tainted).len(), 2);
    for machine in &mut tainted.claims {
        let any = Toleration {
            key: Some("team".to_owned()),
            value: Tolerated::Any,
            effect: None,
        };
        Arc::make_mut(&mut machine.pods[0].needs).tolerations.push(any);
    }
    assert_eq!(held(&tainted).len(), 1);

    let mut crowded = half_empty(2);
    for machine in &mut crowded.claims {
        machine.node.as_mut().unwrap().allocatable = Arc::new(Resources::given([("cpu", "4"), (PODS, "1")]));
    }
    assert_eq!(held(&crowded).len(), 2);
}

#[test]
fn nodes_that_may_be_disrupted_or_take_no_pods_have_no_room_for_others() {
    let mut world = half_empty(1);
    world.claims.push(Machine::new(1));
    world.pool.limit.as_mut().unwrap().nodes = 2;
    assert_eq!(held(&world), ["node-0"], "the empty node may be gone in a moment");
    let with = |change: fn(&mut Node)| {
        let mut world = half_empty(2);
        change(world.claims[1].node.as_mut().unwrap());
        held(&world)
    };
    assert_eq!(with(|_| ()), ["node-0"]);
    assert_eq!(
        with(|node| node.is_cordoned = true),
        ["node-0"],
        "it can leave itself"
    );
    assert_eq!(with(|node| node.marks = USERS), [""; 0], "it stays");
    let mut world = half_empty(2);
    world.claims[1].node.as_mut().unwrap().is_ready = false;
    world.claims[1].pods.push(pod("3"));
    world.claims[0].pods.push(pod("1"));
    assert_eq!(held(&world).len(), 2);
}

#[test]
fn finished_pods_take_no_room_and_leaving_ones_still_do() {
    let mut world = half_empty(2);
    world.claims[0].pods.push(pod("3"));
    world.claims[1].node.as_mut().unwrap().is_cordoned = true;
    assert_eq!(
        held(&world),
        ["node-0", "node-1"],
        "the one that takes pods is full"
    );
    world.claims[0].pods[1].is_leaving = true;
    assert_eq!(held(&world), ["node-0", "node-1"]);
    world.claims[0].pods[1].is_terminal = true;
    assert_eq!(held(&world), ["node-0"]);
}

#[test]
fn pods_of_one_size_fit_whatever_their_order() {
    let taint = NodeTaint {
        key: "team".to_owned(),
        value: "red".to_owned(),
        effect: Effect::NoSchedule,
    };
    let mut filling = pod("3");
    Arc::make_mut(&mut filling.needs).others.volumes = true;
    let mut tolerant = pod("1");
    let any = Toleration {
        key: None,
        value: Tolerated::Any,
        effect: None,
    };
    Arc::make_mut(&mut tolerant.needs).tolerations.push(any);
    let mut world = World::new(3);
    world.claims.push(Machine::new(0).with(filling.clone()));
    world.claims.push(Machine::new(1).with(filling));
    world.claims[1].node.as_mut().unwrap().taint(taint);
    world.claims.push(Machine::new(2).with(tolerant).with(pod("1")));
    assert_eq!(held(&world), ["node-0", "node-1"], "each finds a node");
    world.claims[2].pods.reverse();
    assert_eq!(held(&world), ["node-0", "node-1"]);
}

#[test]
fn a_large_pool_of_all_different_pods_is_packed_within_bounds() {
    let mut world = World::new(2_000);
    for index in 0..2_000_usize {
        let mut machine = Machine::new(index);
        for pod in 0..10_usize {
            machine = machine.with_pod(&format!("{}m", 50 + (index * 7 + pod * 13) % 300));
        }
        world.claims.push(machine);
    }
    #[expect(clippy::disallowed_methods, reason = "this is about time")]
    let begun = std::time::Instant::now();
    let plan = world.plan();
    println!("{} of 2000 held, {:?}", plan.hold.len(), begun.elapsed());
    assert!(
        plan.hold.len() < 1_600,
        "{} held: half of the room is free",
        plan.hold.len()
    );
}
