//! What is reported, and how often.

use jiff::SignedDuration;
use serde_json::json;

use super::super::*;
use super::world::*;

fn reported(plan: &Plan) -> Vec<String> {
    plan.events
        .iter()
        .map(|event| format!("{}: {}", event.reason.as_str(), event.message))
        .collect()
}

fn reported_at(world: &mut World, seconds: i64) -> Vec<String> {
    reported(&world.step(noon() + SignedDuration::from_secs(seconds)))
}

const BLOCKED: &str =
    "DisruptionBlocked: No allowed disruptions for disruption reason Drifted due to node hard limit";

#[test]
fn a_disruption_that_the_limit_forbids_is_reported_once_until_it_happens_again() {
    let mut world = World::new(2).with_full_nodes(2);
    for machine in &mut world.claims {
        machine.claim.conditions.consolidatable = false;
    }
    assert_eq!(
        reported_at(&mut world, 0),
        [""; 0],
        "nobody wants to disrupt them"
    );
    world.claims[1].claim.conditions.drifted = true;
    assert_eq!(reported_at(&mut world, 1), [BLOCKED]);
    assert_eq!(reported_at(&mut world, 2), [""; 0]);
    world.pool.limit.as_mut().unwrap().nodes = 3;
    assert_eq!(reported_at(&mut world, 3), [""; 0]);
    world.pool.limit.as_mut().unwrap().nodes = 2;
    assert_eq!(
        reported_at(&mut world, 60),
        [""; 0],
        "it was over for a moment only"
    );
    world.pool.limit.as_mut().unwrap().nodes = 3;
    assert_eq!(reported_at(&mut world, 61), [""; 0]);
    world.pool.limit.as_mut().unwrap().nodes = 2;
    assert_eq!(reported_at(&mut world, 661), [BLOCKED]);
}

#[test]
fn consolidation_that_the_limit_forbids_is_reported_only_where_there_is_any() {
    let mut world = World::new(2).with_full_nodes(2);
    assert_eq!(
        reported(&world.plan()),
        [
            "DisruptionBlocked: No allowed disruptions for disruption reason Underutilized due to node hard limit"
        ]
    );
    world.pool.consolidates_underutilized = false;
    assert_eq!(reported(&world.plan()), [""; 0]);
    let mut frozen = World::with_mode(2, "Hard", &json!([{"nodes": "0"}])).with_full_nodes(2);
    assert_eq!(reported_at(&mut frozen, 0), [""; 0], "budgets forbid it anyway");
}

#[test]
fn pods_that_wait_for_a_node_of_a_full_pool_are_reported_once() {
    let mut world = World::new(2).with_full_nodes(2);
    world.pool.consolidates_underutilized = false;
    world.claims[1].claim.conditions.initialized = false;
    world.pending.push(needs("1"));
    assert_eq!(
        reported_at(&mut world, 0),
        [""; 0],
        "their nodes may be on the way"
    );
    world.denied(noon());
    let reached =
        "NodeLimitReached: Node limit reached: 2 of 2 nodes (mode Hard). Pods that need another node wait";
    assert_eq!(reported_at(&mut world, 1), [reached]);
    world.claims[1].claim.conditions.initialized = true;
    assert_eq!(reported_at(&mut world, 500), [""; 0]);
    world.pool.limit.as_mut().unwrap().nodes = 1;
    let again = reported_at(&mut world, 501);
    assert!(again[0].contains("2 of 1 nodes"), "{again:?}");
}

#[test]
fn nodes_that_were_admitted_and_do_not_exist_yet_count_among_those_that_reach_the_limit() {
    let mut world = World::new(3).with_full_nodes(2);
    world.pool.consolidates_underutilized = false;
    world.ledger.reservations.push("admitted".into());
    world.pending.push(needs("1"));
    world.denied(noon());
    let reported = reported_at(&mut world, 1);
    assert!(
        reported[0].contains("Node limit reached: 3 of 3 nodes"),
        "{reported:?}"
    );
}

#[test]
fn a_denied_replacement_is_not_a_denied_pod() {
    let mut world = World::new(2).with_full_nodes(1);
    world.pool.consolidates_underutilized = false;
    let machine = Machine::new(1).with_pod("4").disrupted(noon());
    world.claims.push(machine);
    world.denied(noon());
    assert_eq!(reported_at(&mut world, 1), [""; 0]);
}

#[test]
fn the_oldest_drain_is_named_when_the_limit_is_reached() {
    let mut world = World::new(3).with_full_nodes(1);
    world.claims[0].claim.conditions.consolidatable = false;
    world.claims.push(Machine::new(1).with_pod("4").deleted());
    world.claims.push(Machine::new(2).with_pod("4").deleted());
    world.claims[2].claim.deleted = Some(noon() - minutes(9));
    world.pending.push(needs("1"));
    assert_eq!(
        reported_at(&mut world, 0),
        [
            "NodeLimitReached: Node limit reached: 3 of 3 nodes (mode Hard). Pods that need another node wait. \
          node-2, draining since 2026-01-05T11:51:00Z, counts until it is gone, as do 1 more"
        ]
    );
    world.claims.remove(2);
    world.claims.push(Machine::new(3).with_pod("4"));
    world.claims[2].claim.conditions.consolidatable = false;
    let reported = reported_at(&mut world, 1);
    assert!(reported[0].contains(". node-1, draining since"), "{reported:?}");
}

#[test]
fn nodes_above_the_limit_are_reported() {
    let mut world = World::with_mode(2, "Soft", &json!([])).with_full_nodes(5);
    assert_eq!(
        reported_at(&mut world, 0),
        ["NodeLimitExceeded: 3 nodes above the limit of 2; none is terminated (over-limit: report)"]
    );
    assert_eq!(reported_at(&mut world, 1), [""; 0]);
    world.claims.drain(..2);
    assert_eq!(
        reported_at(&mut world, 2),
        ["NodeLimitExceeded: 1 node above the limit of 2; none is terminated (over-limit: report)"]
    );
}

#[test]
fn a_termination_without_the_right_to_it_is_reported_with_what_gives_it() {
    let mut world = World::new(2).with_full_nodes(5).terminating();
    world.settings.rights.terminate = false;
    let expected = "NodeLimitExceeded: 3 nodes above the limit of 2; none is terminated although over-limit is terminate: \
                    poolgate has no right to terminate NodeClaims. The component `terminate` grants it (Helm: \
                    reconciler.terminate=true)";
    assert!(reported_at(&mut world, 0).contains(&expected.to_owned()));
    world.settings.rights.terminate = true;
    let terminating = reported_at(&mut world, 1);
    assert!(terminating[0].contains("terminating claim-"), "{terminating:?}");
}

#[test]
fn a_termination_is_announced_and_named() {
    let mut world = World::with_mode(2, "Soft", &json!([]))
        .with_full_nodes(9)
        .terminating();
    world.steady_since = Some(clock(noon()));
    assert_eq!(
        reported_at(&mut world, 0),
        [
            "NodeLimitExceeded: 7 nodes above the limit of 2; the cheapest are terminated after 180 s without a \
          change"
        ]
    );
    assert_eq!(reported_at(&mut world, 100), [""; 0]);
    assert_eq!(
        reported_at(&mut world, 200),
        [
            "NodeLimitExceeded: 7 nodes above the limit of 2; terminating claim-0, claim-1, claim-2, claim-3, claim-4 \
          and 2 more (over-limit: terminate)"
        ]
    );
    for second in 201..210 {
        assert_eq!(reported_at(&mut world, second), [""; 0]);
    }
}

#[test]
fn pools_that_are_left_alone_get_no_events() {
    let mut world = World::new(2).with_full_nodes(5);
    world.pending.push(needs("1"));
    world.pool.is_static = true;
    assert_eq!(reported_at(&mut world, 0), [""; 0]);
    assert!(EventReason::NodeLimitExceeded.is_warning() && !EventReason::NodeLimitReached.is_warning());
}
