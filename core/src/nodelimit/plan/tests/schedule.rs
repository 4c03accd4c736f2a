//! A limit that follows the clock: what the leader writes, and when.

use serde_json::json;

use super::world::*;
use crate::nodelimit::plan::*;

const SCHEDULE: &str = "12:00-18:00 = 10; else 4";

/// A pool with a schedule, as it is stored: the number, `spec.limits.nodes`, and whether poolgate owns the number.
fn pool(schedule: Option<&str>, number: Option<&str>, nodes: &str, is_ours: bool) -> World {
    World::from_object(&json!({
        "metadata": {
            "annotations": {"poolgate.dev/node-limit-schedule": schedule, "poolgate.dev/node-limit": number},
            "managedFields": is_ours.then(|| json!([{"manager": "poolgate-node-limit"}])),
        },
        "spec": {"limits": {"nodes": nodes}, "disruption": {"nodeLimitMode": "Hard"}},
    }))
}

fn stored(number: &str, nodes: &str) -> World {
    pool(Some(SCHEDULE), Some(number), nodes, true)
}

/// What is written at a time: the annotation, and `spec.limits.nodes`.
fn written(world: &World, at: &str) -> Option<(Option<u32>, u32)> {
    let plan = world.plan_at(time(&format!("2026-01-05T{at}Z")));
    plan.limit.map(|limit| (limit.annotation, limit.nodes))
}

#[test]
fn scheduled_limit_falls_immediately_and_rises_a_minute_late() {
    let (low, high) = (stored("4", "4"), stored("10", "10"));
    assert_eq!(written(&low, "12:00:59"), None);
    assert_eq!(written(&low, "12:01:00"), Some((Some(10), 10)));
    assert_eq!(written(&high, "17:59:59"), None);
    assert_eq!(written(&high, "18:00:00"), Some((Some(4), 4)));
}

#[test]
fn scheduled_limit_is_written_in_the_first_round_whatever_is_stored() {
    for (number, nodes) in [
        (None, "4"),
        (Some("7"), "10"),
        (Some("10"), "7"),
        (Some("many"), "10"),
    ] {
        let world = pool(Some(SCHEDULE), number, nodes, false);
        assert_eq!(
            written(&world, "13:00:00"),
            Some((Some(10), 10)),
            "{number:?} {nodes}"
        );
    }
}

#[test]
fn spec_limit_is_the_scheduled_one_less_the_nodes_that_are_going() {
    let mut world = stored("4", "4").with_full_nodes(4);
    world.claims[0] = world.claims[0].clone().deleted();
    assert_eq!(written(&world, "13:00:00"), Some((Some(10), 9)));
    assert_eq!(
        written(&world, "11:00:00"),
        Some((Some(4), 3)),
        "each apply names both"
    );
}

#[test]
fn clock_that_may_be_wrong_raises_no_limit_and_lowers_it() {
    let mut low = stored("4", "4");
    low.settings.is_clock_right = false;
    assert_eq!(written(&low, "13:00:00"), None);
    assert!(low.plan_at(time("2026-01-05T13:00:00Z")).numbers.is_rise_withheld);
    assert!(!low.plan_at(time("2026-01-05T11:00:00Z")).numbers.is_rise_withheld);
    let mut high = stored("10", "10");
    high.settings.is_clock_right = false;
    assert_eq!(written(&high, "18:00:00"), Some((Some(4), 4)));
    let mut new = pool(Some(SCHEDULE), None, "10", false);
    new.settings.is_clock_right = false;
    assert_eq!(written(&new, "13:00:00"), Some((Some(4), 4)));
}

#[test]
fn schedule_is_looked_at_again_in_the_next_minute() {
    let at = time("2026-01-05T11:59:58.5Z");
    let again = stored("4", "4").plan_at(at).again_at.unwrap();
    assert_eq!(again, clock(time("2026-01-05T12:00:00Z")));
    assert_eq!(pool(None, Some("4"), "4", false).plan_at(at).again_at, None);
}

#[test]
fn number_of_a_schedule_that_cannot_be_read_stays_and_so_does_its_owner() {
    let broken = |number, is_ours| pool(Some("mon = 3"), number, "10", is_ours).with_full_nodes(1);
    assert_eq!(written(&broken(Some("10"), true), "13:00:00"), None);
    let mut going = broken(Some("10"), true);
    going.claims[0] = going.claims[0].clone().deleted();
    assert_eq!(written(&going, "13:00:00"), Some((Some(10), 9)));
    assert_eq!(written(&broken(None, false), "13:00:00"), None);
}

#[test]
fn number_whose_schedule_is_gone_moves_into_the_spec_unless_a_user_owns_it() {
    let mut without = pool(None, Some("10"), "9", true).with_full_nodes(1);
    without.claims[0] = without.claims[0].clone().deleted();
    assert_eq!(
        written(&without, "13:00:00"),
        Some((None, 10)),
        "nothing would raise it later"
    );
    assert_eq!(written(&pool(None, Some("10"), "10", false), "13:00:00"), None);
}

#[test]
fn limit_that_poolgate_leaves_is_the_highest_of_the_schedule() {
    let restored = |world: World| {
        world
            .pool
            .restored_limit()
            .map(|limit| (limit.annotation, limit.nodes))
    };
    assert_eq!(restored(stored("4", "4")), Some((Some(10), 10)));
    assert_eq!(restored(stored("10", "10")), None);
    assert_eq!(restored(pool(None, Some("10"), "8", false)), Some((None, 10)));
    assert_eq!(restored(pool(None, Some("10"), "10", false)), None);
    assert_eq!(restored(pool(None, None, "8", false)), None, "a user's own limit");
}

#[test]
fn static_and_deleted_pools_follow_no_schedule() {
    for field in ["is_static", "is_deleted"] {
        let mut world = stored("4", "4");
        world.pool.is_static = field == "is_static";
        world.pool.is_deleted = field == "is_deleted";
        assert_eq!(written(&world, "13:00:00"), None, "{field}");
    }
}

#[test]
fn event_says_what_the_schedule_sets_and_when_somebody_has_changed_it() {
    let said = |plan: &Plan| -> Vec<String> {
        let events = plan.events.iter();
        let own = events.filter(|event| event.reason == EventReason::NodeLimitScheduled);
        own.map(|event| event.message.clone()).collect()
    };
    let at = |minute: i64| time("2026-01-05T13:00:00Z") + minutes(minute);
    let mut world = stored("4", "4");
    assert_eq!(
        said(&world.step(at(0))),
        ["The schedule sets the node limit to 10"]
    );
    assert_eq!(said(&world.step(at(0))), [""; 0], "the watch is late");
    let memory = std::mem::take(&mut world.memory);
    let mut world = World {
        memory,
        ..stored("10", "10")
    };
    assert_eq!(said(&world.step(at(1))), [""; 0]);
    let memory = std::mem::take(&mut world.memory);
    let mut world = World {
        memory,
        ..stored("50", "10")
    };
    assert_eq!(
        said(&world.step(at(2))),
        ["Somebody set the node limit to 50. The schedule says 10, which is written again"]
    );
}

#[test]
fn limit_of_a_pool_is_the_stored_number_whatever_the_schedule_says() {
    let nodes = |world: &World| world.pool.limit.unwrap().nodes;
    assert_eq!(nodes(&stored("7", "10")), 7);
    assert_eq!(
        nodes(&pool(Some(SCHEDULE), None, "10", false)),
        4,
        "the lowest until there is one"
    );
    assert_eq!(nodes(&pool(Some("mon = 3"), None, "10", false)), 10);
}
