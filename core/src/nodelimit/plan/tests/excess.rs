//! What happens to claims above the limit.

use jiff::SignedDuration;
use serde_json::json;

use super::super::excess::MOST_VICTIMS;
use super::super::*;
use super::machine::USERS;
use super::world::*;
use crate::api::NodeLimitMode;

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
