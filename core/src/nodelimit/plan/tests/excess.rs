//! What happens to claims above the limit, and in which order, compared with Karpenter's rules one by one.

use jiff::SignedDuration;
use proptest::prelude::*;
use serde_json::json;

use super::super::excess::MOST_VICTIMS;
use super::super::*;
use super::world::*;
use crate::api::NodeLimitMode;
use crate::facts::ProviderSettings;

fn uids(plan: &Plan) -> Option<Vec<&str>> {
    Some(plan.victims.as_ref()?.iter().map(|uid| &**uid).collect())
}

fn going(plan: &Plan) -> Vec<&str> {
    plan.terminate.iter().map(|claim| &*claim.uid).collect()
}

#[test]
fn by_default_nothing_is_terminated() {
    let world = World::new(2).with_full_nodes(5);
    let plan = world.plan();
    assert_eq!((uids(&plan), going(&plan)), (None, vec![]));
    assert_eq!(plan.numbers.excess, 3);
}

#[test]
fn victims_are_listed_first_and_then_those_alone_are_deleted() {
    let mut world = World::new(5).with_full_nodes(8).terminating();
    let plan = world.step(noon());
    assert_eq!(uids(&plan), Some(vec!["uid-0", "uid-1", "uid-2"]));
    let plan = world.step(noon());
    assert_eq!(
        (uids(&plan), going(&plan)),
        (None, vec!["uid-0", "uid-1", "uid-2"])
    );
    for hour in 0..5 {
        let plan = world.step(noon() + SignedDuration::from_hours(hour));
        assert_eq!(
            (uids(&plan), going(&plan)),
            (None, vec![]),
            "finalizers keep them, and no fourth goes"
        );
    }
    world.claims.drain(..2);
    assert_eq!(uids(&world.plan()), None);
    world.claims.remove(0);
    assert_eq!(
        uids(&world.step(noon())),
        Some(vec![]),
        "the list is cleared when the last has gone"
    );
    assert_eq!(uids(&world.plan()), None);
}

#[test]
fn the_pace_is_kept() {
    let mut world = World::new(5).with_full_nodes(8).terminating();
    world.step(noon());
    world.terminations_left = 0;
    assert_eq!(going(&world.plan()), [""; 0]);
    world.terminations_left = 2;
    assert_eq!(going(&world.step(noon())), ["uid-0", "uid-1"]);
    assert_eq!(going(&world.step(noon())), ["uid-2"]);
}

#[test]
fn a_limit_raised_in_between_spares_victims() {
    let mut world = World::new(5).with_full_nodes(8).terminating();
    world.step(noon());
    world.pool.limit.as_mut().unwrap().nodes = 7;
    let plan = world.step(noon());
    assert_eq!((uids(&plan), going(&plan)), (Some(vec!["uid-0"]), vec![]));
    assert_eq!(going(&world.plan()), ["uid-0"]);
    world.pool.limit = None;
    let plan = world.step(noon());
    assert_eq!((uids(&plan), going(&plan)), (Some(vec![]), vec![]));
}

#[test]
fn a_listed_claim_that_a_user_marks_stays_as_long_as_another_can_go() {
    let mut world = World::new(5).with_full_nodes(8).terminating();
    assert_eq!(uids(&world.step(noon())), Some(vec!["uid-0", "uid-1", "uid-2"]));
    world.claims[1] = world.claims[1].clone().marked(USERS);
    let plan = world.step(noon());
    assert_eq!(
        (uids(&plan), going(&plan)),
        (Some(vec!["uid-0", "uid-2"]), vec![])
    );
    assert_eq!(going(&world.step(noon())), ["uid-0", "uid-2"]);
    world
        .claims
        .retain(|machine| !["uid-0", "uid-2"].contains(&&*machine.claim.uid));
    assert_eq!(uids(&world.step(noon())), Some(vec!["uid-3"]));
    for machine in &mut world.claims {
        *machine = machine.clone().marked(USERS);
    }
    assert_eq!(going(&world.step(noon())), ["uid-3"], "no other can go");
}

#[test]
fn a_limit_lowered_again_lets_the_listed_go_first() {
    let mut world = World::new(7).with_full_nodes(8).terminating();
    world.step(noon());
    world.pool.limit.as_mut().unwrap().nodes = 5;
    assert_eq!(going(&world.step(noon())), ["uid-0"]);
    let lowered = noon() + minutes(3);
    assert_eq!(uids(&world.step(lowered)), Some(vec!["uid-1", "uid-2"]));
}

#[test]
fn the_list_stays_within_bounds() {
    let mut world = World::new(0).with_full_nodes(250).terminating();
    let mut gone = 0;
    while gone < 250 {
        let listed = world.step(noon()).victims.unwrap();
        assert!(listed.len() <= MOST_VICTIMS);
        gone += world.step(noon()).terminate.len();
    }
    assert_eq!(world.step(noon()).victims, None);
}

#[test]
fn nothing_goes_before_all_has_settled() {
    let mut world = World::new(5).with_full_nodes(8).terminating();
    world.steady_since = Some(clock(noon()));
    let plan = world.plan_at(noon() + SignedDuration::from_secs(179));
    assert_eq!((uids(&plan), going(&plan)), (None, vec![]));
    assert_eq!(
        plan.again_at.map(|at| at <= clock(noon()).plus(SETTLE)),
        Some(true)
    );
    assert_eq!(uids(&world.step(noon() + SETTLE)).unwrap().len(), 3);
    world.steady_since = None;
    let plan = world.plan_at(noon() + SETTLE);
    assert_eq!((uids(&plan), going(&plan)), (None, vec![]), "the list waits, too");
}

#[test]
fn static_pools_pools_that_go_and_a_missing_right_terminate_nothing() {
    let over = || World::new(5).with_full_nodes(8).terminating();
    let mut worlds = [over(), over(), over()];
    worlds[0].pool.is_static = true;
    worlds[1].pool.is_deleted = true;
    worlds[2].settings.rights.delete = false;
    for world in &worlds {
        let plan = world.plan();
        assert_eq!((uids(&plan), going(&plan)), (None, vec![]));
    }
}

#[test]
fn in_a_soft_pool_nodes_being_disrupted_are_not_too_many() {
    let mut world = World::with_mode(5, "Soft", &json!([{"nodes": "100%"}]))
        .terminating()
        .with_full_nodes(6);
    world.claims[0] = world.claims[0].clone().disrupted(noon());
    let plan = world.plan();
    assert_eq!(
        (plan.numbers.nodes, plan.numbers.excess, uids(&plan)),
        (5, 0, None)
    );
    world.pool.limit.as_mut().unwrap().nodes = 4;
    assert_eq!(uids(&world.plan()), Some(vec!["uid-1"]));
}

#[test]
fn a_mode_that_vanished_from_the_object_terminates_nothing_more() {
    let mut world = World::with_mode(5, "Soft", &json!([{"nodes": "100%"}]))
        .terminating()
        .with_full_nodes(6);
    world.claims[0] = world.claims[0].clone().disrupted(noon());
    world.pool.mode_is_written = false;
    world.pool.limit.as_mut().unwrap().mode = NodeLimitMode::Hard;
    let plan = world.step(noon());
    assert_eq!((plan.numbers.remaining, uids(&plan)), (Some(0), None));
    world.pool.mode_is_written = true;
    world.step(noon());
    let said = world.plan_at(noon() + minutes(3));
    assert_eq!(uids(&said), Some(vec!["uid-0"]), "now it is said");
}

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
fn claims_above_the_limit_go_in_the_order_unlaunched_empty_cheap_wanted() {
    let mut world = over();
    let wanted = Pod {
        do_not_disrupt: Some(DoNotDisrupt::Always),
        ..pod("1")
    };
    world.claims.push(Machine::new(0).with(wanted));
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
    let with = |deletion_cost: Option<i32>, priority| Pod {
        deletion_cost,
        priority,
        ..pod("1")
    };
    let mut world = over();
    world
        .claims
        .push(Machine::new(0).with(with(Some(i32::MAX), None)));
    world
        .claims
        .push(Machine::new(1).with(with(None, Some(i32::MIN))));
    world
        .claims
        .push(Machine::new(2).with(with(Some(-134_217_728), None)));
    world.claims.push(Machine::new(3).with(with(None, None)));
    world
        .claims
        .push(Machine::new(4).with(with(None, Some(33_554_432))));
    assert_eq!(order(&mut world), ["uid-1", "uid-2", "uid-3", "uid-4", "uid-0"]);
}

/// The order of three nodes under a policy with these facts. The pod of the first is dear by its disruption cost and cheap by
/// its deletion cost, that of the second dear by its deletion cost, and that of the third has none.
fn order_by_costs(cluster: &str) -> Vec<String> {
    let with = |disruption_cost, deletion_cost| Pod {
        disruption_cost,
        deletion_cost,
        ..pod("1")
    };
    let mut world = over();
    world
        .claims
        .push(Machine::new(0).with(with(Some(2_000_000_000), Some(-2_000_000_000))));
    world
        .claims
        .push(Machine::new(1).with(with(None, Some(1_000_000_000))));
    world.claims.push(Machine::new(2).with(with(None, None)));
    let policy = format!("apiVersion: poolgate.dev/v1alpha1\nkind: Policy\ncluster: {cluster}\n");
    let policy = crate::policy_file::parse(&policy).expect("a policy").policy;
    world.pool.pod_costs = PodCosts::of(&policy, &ProviderSettings::KARPENTER);
    order(&mut world)
}

#[test]
fn the_disruption_cost_of_a_pod_outranks_its_deletion_cost_which_karpenter_may_write_itself() {
    for (cluster, expected) in [
        ("{}", ["uid-2", "uid-1", "uid-0"]),
        ("{karpenter: 1.15.0}", ["uid-2", "uid-1", "uid-0"]),
        ("{karpenter: 1.14.1}", ["uid-0", "uid-2", "uid-1"]),
        (
            "{featureGates: {PodDeletionCostManagement: false}}",
            ["uid-2", "uid-1", "uid-0"],
        ),
        (
            "{featureGates: {PodDeletionCostManagement: true}}",
            ["uid-1", "uid-2", "uid-0"],
        ),
    ] {
        assert_eq!(order_by_costs(cluster), expected, "{cluster}");
    }
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
                cost += f64::from(pod.deletion_cost.unwrap_or(0)) / 2_f64.powi(27);
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
        deletion_cost in prop::option::of(any::<i32>()),
        priority in prop::option::of(any::<i32>()),
        has_started in any::<bool>(),
    ) -> Pod {
        let do_not_disrupt = wish.filter(|_| !has_started || deletion_cost.is_none()).and_then(DoNotDisrupt::parse);
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
