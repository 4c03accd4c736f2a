//! Terminations wait until everything has been steady: no momentary mistake and no change of a clock costs a node.

use std::time::Duration;

use jiff::SignedDuration;
use proptest::prelude::*;
use serde_json::json;

use super::super::*;
use super::any::any_world;
use super::drift::drifted;
use super::world::*;
use crate::api::{NodeLimit, NodeLimitMode, OverLimit};

const SECOND: SignedDuration = SignedDuration::from_secs(1);

fn settle() -> SignedDuration {
    SignedDuration::try_from(SETTLE).unwrap()
}

/// Six nodes, one of them being disrupted, and a limit that they do not exceed.
fn kept() -> World {
    let mut world = World::with_mode(5, "Soft", &json!([{"nodes": "100%"}])).with_full_nodes(6);
    world.claims[0] = world.claims[0].clone().disrupted(noon());
    world
}

/// The same pool after a mistake that would cost a node.
fn slips() -> Vec<(&'static str, World)> {
    let of = |limit: Option<NodeLimit>, slip: fn(&mut World)| {
        let mut world = kept();
        world.pool.limit = limit;
        world.memory = world.plan().memory;
        world.pool.limit = kept().terminating().pool.limit;
        slip(&mut world);
        world
    };
    let terminating = kept().terminating().pool.limit;
    let reporting = terminating.map(|limit| NodeLimit {
        nodes: 3,
        over_limit: OverLimit::Report,
        ..limit
    });
    vec![
        ("a lower limit", of(terminating, |world| limit(world).nodes = 4)),
        (
            "another mode",
            of(terminating, |world| limit(world).mode = NodeLimitMode::Hard),
        ),
        ("another choice", of(reporting, |world| limit(world).nodes = 3)),
        (
            "a limit where there was none",
            of(None, |world| limit(world).nodes = 3),
        ),
    ]
}

fn limit(world: &mut World) -> &mut NodeLimit {
    world.pool.limit.as_mut().unwrap()
}

fn does_nothing(plan: &Plan) -> bool {
    plan.victims.is_none() && plan.terminate.is_empty()
}

#[test]
fn a_mistake_that_is_fixed_before_the_settle_time_is_over_deletes_nothing() {
    for (slip, mut world) in slips() {
        assert!(does_nothing(&world.step(noon())), "{slip}");
        let plan = world.step(noon() + settle() - SECOND);
        assert!(does_nothing(&plan), "{slip}");
        assert_eq!(plan.again_at, Some(clock(noon() + settle())), "{slip}");
        world.pool.limit = kept().pool.limit;
        for minute in 3..10 {
            assert!(does_nothing(&world.step(noon() + minutes(minute))), "{slip}");
        }
    }
}

#[test]
fn a_limit_that_lasts_for_the_settle_time_is_acted_on() {
    for (what, mut world) in slips() {
        world.step(noon());
        let plan = world.step(noon() + settle());
        assert_eq!(
            plan.victims.map(|victims| victims.is_empty()),
            Some(false),
            "{what}"
        );
    }
}

#[test]
fn a_limit_that_changes_all_the_time_is_kept_as_it_was_one_settle_time_ago() {
    let mut world = World::new(20).with_full_nodes(20).terminating();
    let mut ended = Vec::new();
    for minute in 0..10 {
        limit(&mut world).nodes = 20 - u32::try_from(minute).unwrap();
        let now = noon() + minutes(minute);
        world.step(now);
        world.step(now);
        ended.push(
            world
                .claims
                .iter()
                .filter(|machine| machine.claim.deleted.is_some())
                .count(),
        );
    }
    // The limit of one minute ends as the next one begins.
    assert_eq!(ended, [0, 0, 0, 0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn victims_that_a_slip_upwards_spares_are_listed_again() {
    let mut world = World::new(5).with_full_nodes(8).terminating();
    assert_eq!(world.step(noon()).victims.map(|victims| victims.len()), Some(3));
    limit(&mut world).nodes = 50;
    assert_eq!(world.step(noon()).victims, Some(Vec::new()));
    limit(&mut world).nodes = 5;
    assert!(does_nothing(&world.step(noon() + SECOND)));
    let plan = world.step(noon() + SECOND + settle());
    assert_eq!(plan.victims.map(|victims| victims.len()), Some(3));
}

/// What becomes of an open ledger that is lost.
fn losses() -> [(&'static str, Option<LedgerIdentity>); 3] {
    [
        ("missing", None),
        ("closed", ledger("ledger", Some(7)).identity),
        ("another object", ledger("other", None).identity),
    ]
}

fn lose(world: &mut World, identity: Option<&LedgerIdentity>) {
    if identity.is_none() {
        world.ledger = LedgerState::default();
    }
    world.ledger.identity = identity.cloned();
}

/// A pool three nodes above its limit, and one that is to replace a drifted node, each ready for its next step.
fn about_to_delete() -> [(&'static str, World); 3] {
    let unlisted = World::new(5).with_full_nodes(8).terminating();
    let mut listed = World::new(5).with_full_nodes(8).terminating();
    listed.step(noon());
    let mut replacing = drifted();
    assert!(replacing.step(noon()).replacement.is_some());
    replacing.pool.written_nodes = Some(4);
    [
        ("unlisted", unlisted),
        ("listed", listed),
        ("replacing", replacing),
    ]
}

fn deletes_nothing(plan: &Plan) -> bool {
    let lists = plan
        .replacement
        .as_ref()
        .is_some_and(|next| next.replacement.is_some());
    does_nothing(plan) && plan.replace.is_none() && !lists
}

#[test]
fn a_lost_ledger_deletes_nothing_until_an_open_one_has_lasted_for_the_settle_time() {
    for (state, world) in about_to_delete() {
        assert!(!deletes_nothing(&world.plan_at(noon() + SECOND)), "{state}");
    }
    for (loss, identity) in losses() {
        for (state, mut world) in about_to_delete() {
            let is_missing = identity.is_none();
            let is_open = loss == "another object";
            world.memory = world.plan_at(noon()).memory;
            lose(&mut world, identity.as_ref());
            let plan = world.step(noon() + SECOND);
            assert!(deletes_nothing(&plan), "{loss}, {state}");
            lose(&mut world, identity.as_ref());
            let opened = if is_open {
                noon() + SECOND
            } else {
                let later = noon() + minutes(10);
                let plan = world.step(later);
                assert!(deletes_nothing(&plan), "{loss}, {state}");
                assert_eq!(plan.store_ledger, is_missing, "{loss}, {state}");
                later + SECOND
            };
            let object = if is_missing { "new" } else { "ledger" };
            world.ledger.identity = identity
                .clone()
                .filter(|_| is_open)
                .or(ledger(object, None).identity);
            world.step(opened);
            assert!(
                deletes_nothing(&world.step(opened + settle() - SECOND)),
                "{loss}, {state}"
            );
            assert!(
                !deletes_nothing(&world.step(opened + settle())),
                "{loss}, {state}"
            );
        }
    }
}

#[test]
fn a_ledger_is_stored_in_place_of_a_missing_one_only_where_a_deletion_needs_it() {
    let missing = |mut world: World| {
        world.ledger = LedgerState::default();
        world.plan().store_ledger
    };
    assert!(missing(World::new(5).with_full_nodes(8).terminating()));
    assert!(!missing(World::new(8).with_full_nodes(8).terminating()));
    assert!(!missing(World::new(5).with_full_nodes(8)));
}

proptest! {
    #[test]
    fn a_wall_clock_that_jumps_changes_neither_how_many_go_nor_when(
        mut world in any_world(),
        steps in prop::collection::vec((0..120_u32, -3_600..=3_600_i64, prop::option::of(0..8_u32)), 1..20),
    ) {
        world.memory = world.remembered();
        let mut jumping = copy_of(&world);
        let mut now = both(noon());
        let mut jumped = SignedDuration::ZERO;
        for (seconds, jump, nodes) in steps {
            let passed = Duration::from_secs(seconds.into());
            now = Now { wall: now.wall + passed, clock: now.clock.plus(passed) };
            jumped += SignedDuration::from_secs(jump);
            for world in [&mut world, &mut jumping] {
                if let Some(nodes) = nodes {
                    limit(world).nodes = nodes;
                }
            }
            let (plan, other) = (world.plan_by(now), jumping.plan_by(Now { wall: now.wall + jumped, ..now }));
            // Which of them go first depends on how long they still have to live.
            prop_assert_eq!(how_many(&plan), how_many(&other));
            world.carry_out(plan, now.wall);
            jumping.carry_out(other, now.wall);
        }
    }

    #[test]
    fn claims_that_a_limit_of_the_last_settle_time_has_spared_stay(
        mut world in any_world(),
        steps in prop::collection::vec((0..120_u32, prop::option::of(0..8_u32)), 1..20),
    ) {
        let mut now = noon();
        world.memory = world.remembered();
        let hard = world.pool.limit.unwrap().mode == NodeLimitMode::Hard;
        let mut limits = vec![(world.pool.limit.unwrap().nodes, now)];
        for (seconds, nodes) in steps {
            now += SignedDuration::from_secs(seconds.into());
            if let Some((_, until)) = limits.last_mut() {
                *until = now;
            }
            if let Some(nodes) = nodes {
                limit(&mut world).nodes = nodes;
                limits.push((nodes, now));
            }
            let recent = limits.iter().filter(|(_, until)| now.duration_since(*until) < settle());
            let most = recent.map(|(nodes, _)| *nodes as usize).max().unwrap();
            let undeleted = world.claims.iter().filter(|machine| machine.claim.deleted.is_none()).count();
            let plan = world.step(now);
            prop_assert!(plan.terminate.is_empty() || undeleted - plan.terminate.len() >= most);
            prop_assert!(!hard || plan.victims.is_none_or(|victims| victims.len() <= undeleted.saturating_sub(most)));
        }
    }
}

/// How many are listed, and how many are deleted.
fn how_many(plan: &Plan) -> (Option<usize>, usize) {
    (plan.victims.as_ref().map(Vec::len), plan.terminate.len())
}

/// A copy of the world.
fn copy_of(world: &World) -> World {
    let mut copy = World::new(0);
    copy.pool.limit = world.pool.limit;
    copy.pool.is_static = world.pool.is_static;
    copy.pool.mode_is_written = world.pool.mode_is_written;
    copy.claims.clone_from(&world.claims);
    copy.memory = world.memory.clone();
    copy.ledger = world.ledger.clone();
    copy.terminations_left = world.terminations_left;
    copy.settings = world.settings;
    copy
}
