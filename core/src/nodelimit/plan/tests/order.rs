//! The order in which claims are deleted, compared with Karpenter's rules, one by one.

use jiff::SignedDuration;
use proptest::prelude::*;

use super::super::*;
use super::machine::*;
use super::world::*;

/// The UIDs of all claims in the order in which they are deleted.
fn order(world: &mut World) -> Vec<String> {
    world.pool.limit.as_mut().unwrap().nodes = 0;
    let victims = world.plan().victims.unwrap_or_default();
    victims.iter().map(|uid| (**uid).to_owned()).collect()
}

fn over() -> World {
    World::new(0).terminating()
}

#[test]
fn claims_without_machine_go_first_then_empty_ones_then_the_cheap_then_what_users_want() {
    let mut world = over();
    let wished = Pod {
        do_not_disrupt: Some(DoNotDisrupt::Always),
        ..pod("1")
    };
    world.claims.push(Machine::new(0).with(wished));
    world.claims.push(Machine::new(1).with_pod("1").marked(USERS));
    world.claims.push(Machine::new(2).with_pod("1").with_pod("1"));
    world.claims.push(Machine::new(3).with_pod("1").held());
    world.claims.push(Machine::new(4).with_pod("1").disrupted(noon()));
    world.claims.push(Machine::new(5).with(daemon()));
    world.claims.push(Machine::unlaunched(6));
    world.claims.push(Machine::new(7));
    let expected = [
        "uid-6", "uid-5", "uid-7", "uid-4", "uid-3", "uid-2", "uid-0", "uid-1",
    ];
    assert_eq!(order(&mut world), expected);
}

#[test]
fn a_finished_pod_makes_a_node_no_less_full_and_a_mirror_neither() {
    let mut world = over();
    world.claims.push(Machine::new(0).with(Pod {
        is_mirror: true,
        ..pod("1")
    }));
    world.claims.push(Machine::new(1).with(Pod {
        is_terminal: true,
        ..pod("1")
    }));
    world.claims.push(Machine::new(2));
    assert_eq!(order(&mut world), ["uid-2", "uid-0", "uid-1"]);
}

#[test]
fn deletion_costs_and_priorities_count_within_bounds() {
    let with = |deletion_cost: Option<f64>, priority| Pod {
        deletion_cost: deletion_cost.and_then(DeletionCost::new),
        priority,
        ..pod("1")
    };
    let mut world = over();
    world
        .claims
        .push(Machine::new(0).with(with(Some(f64::INFINITY), None)));
    world
        .claims
        .push(Machine::new(1).with(with(None, Some(i32::MIN))));
    world
        .claims
        .push(Machine::new(2).with(with(Some(-134_217_728.0), None)));
    world.claims.push(Machine::new(3).with(with(None, None)));
    world
        .claims
        .push(Machine::new(4).with(with(None, Some(33_554_432))));
    assert_eq!(order(&mut world), ["uid-1", "uid-2", "uid-3", "uid-4", "uid-0"]);
}

#[test]
fn nodes_that_expire_soon_are_cheap() {
    let mut world = over();
    world.claims.push(Machine::new(0).with_pod("1"));
    for (number, hours) in [(1, 30), (2, 0), (3, 60)] {
        let mut machine = Machine::new(number).with_pod("1");
        machine.claim.expire_after = Some(SignedDuration::from_hours(hours));
        world.claims.push(machine);
    }
    assert_eq!(order(&mut world), ["uid-2", "uid-1", "uid-3", "uid-0"]);
}

#[test]
fn a_wish_that_has_run_out_does_not_count() {
    let until = |length| Pod {
        do_not_disrupt: DoNotDisrupt::parse(length),
        ..pod("1")
    };
    let mut world = over();
    world.claims.push(Machine::new(0).with(until("31m")));
    world.claims.push(Machine::new(1).with(until("30m")));
    world.claims.push(Machine::new(2).with(until("yes")));
    let mut unstarted = until("1s");
    unstarted.started = None;
    world.claims.push(Machine::new(3).with(unstarted));
    assert_eq!(order(&mut world), ["uid-1", "uid-2", "uid-0", "uid-3"]);
}

/// Karpenter's rules in the order in which it applies them, each as its own list. Of the claims that it deletes last,
/// poolgate deletes those last that users want to stay without an end.
fn reference(world: &World) -> Vec<String> {
    let forbids = |pod: &Pod| match pod.do_not_disrupt {
        None => false,
        Some(DoNotDisrupt::Always) => true,
        Some(DoNotDisrupt::For(length)) => pod.started.is_none_or(|started| noon() - length < started),
    };
    let by_age = |machines: &mut Vec<&Machine>| {
        machines.sort_by(|a, b| {
            a.claim
                .created
                .cmp(&b.claim.created)
                .then(a.claim.name.cmp(&b.claim.name))
        });
    };
    let mut rest: Vec<&Machine> = world
        .claims
        .iter()
        .filter(|m| m.claim.deleted.is_none())
        .collect();
    by_age(&mut rest);
    let mut order: Vec<&Machine> = Vec::new();
    let unlaunched: Vec<&Machine> = rest.extract_if(.., |m| !m.claim.is_launched).collect();
    order.extend(unlaunched);
    let is_empty = |m: &Machine| m.pods.is_empty() || m.pods.iter().all(|p| p.is_daemon && !forbids(p));
    let empty: Vec<&Machine> = rest.extract_if(.., |m| is_empty(m)).collect();
    order.extend(empty);
    let is_always = |pod: &Pod| pod.do_not_disrupt == Some(DoNotDisrupt::Always);
    let forever: Vec<&Machine> = rest.extract_if(.., |m| m.pods.iter().any(is_always)).collect();
    let forbidden: Vec<&Machine> = rest.extract_if(.., |m| m.pods.iter().any(forbids)).collect();
    for mut machines in [rest, forbidden, forever] {
        let cost = |m: &Machine| {
            let mut pods: Vec<f64> = Vec::new();
            for pod in &m.pods {
                let mut cost = 1.0;
                cost += pod.deletion_cost.map_or(0.0, DeletionCost::get) / 2_f64.powi(27);
                cost += f64::from(pod.priority.unwrap_or(0)) / 2_f64.powi(25);
                pods.push(cost.clamp(-10.0, 10.0));
            }
            pods.sort_by(f64::total_cmp);
            let left = m.claim.expire_after.map_or(1.0, |lifetime| {
                let age = noon().duration_since(m.claim.created).as_secs_f64();
                (1.0 - age / lifetime.as_secs_f64()).clamp(0.0, 1.0)
            });
            pods.iter().sum::<f64>() * left
        };
        machines.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
        order.extend(machines);
    }
    order.iter().map(|m| (*m.claim.uid).to_owned()).collect()
}

prop_compose! {
    fn any_pod()(
        is_daemon in any::<bool>(),
        wish in prop::sample::select(vec![None, Some("true"), Some("29m"), Some("31m"), Some("no")]),
        deletion_cost in prop::option::of(-3e9..3e9_f64),
        priority in prop::option::of(any::<i32>()),
        has_started in any::<bool>(),
    ) -> Pod {
        let do_not_disrupt = wish.filter(|_| !has_started || deletion_cost.is_none()).and_then(DoNotDisrupt::parse);
        let deletion_cost = deletion_cost.and_then(DeletionCost::new);
        let started = has_started.then(|| noon() - minutes(30));
        Pod { is_daemon, do_not_disrupt, started, deletion_cost, priority, ..pod("1") }
    }
}

prop_compose! {
    fn any_machine()(
        pods in prop::collection::vec(any_pod(), 0..4),
        is_launched in prop::bool::weighted(0.8),
        has_node in prop::bool::weighted(0.9),
        is_deleted in prop::bool::weighted(0.1),
        age in 0..5_usize,
        lifetime in prop::option::of(1..50_i64),
    ) -> Machine {
        let mut machine = Machine::new(age);
        machine.claim.is_launched = is_launched;
        machine.claim.expire_after = lifetime.map(SignedDuration::from_hours);
        if is_deleted {
            machine = machine.deleted();
        }
        if has_node && is_launched {
            machine.pods = pods;
        } else {
            machine.node = None;
        }
        machine
    }
}

proptest! {
    #[test]
    fn the_order_is_karpenters(machines in prop::collection::vec(any_machine(), 0..12)) {
        let mut world = over();
        for (index, mut machine) in machines.into_iter().enumerate() {
            machine.claim.uid = format!("uid-{index}").into();
            machine.claim.name = format!("claim-{}", (index * 7) % 12).into();
            world.claims.push(machine);
        }
        let expected = reference(&world);
        prop_assert_eq!(order(&mut world), expected);
    }
}
