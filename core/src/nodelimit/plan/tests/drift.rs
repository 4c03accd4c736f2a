//! Drifted nodes of a full pool: replaced one at a time where the pool asks for it, or by a surge.

use super::super::*;
use super::repair::{after, full};
use super::world::*;
use crate::api::AtLimit;
use crate::nodelimit::ledger::ReplacedFor;

/// A full pool of drifted nodes that leaves its limit to poolgate and wants them replaced.
pub fn drifted() -> World {
    let mut world = full();
    world.pool.at_limit = AtLimit::Replace;
    world.pool.leaves_limit_to_poolgate = true;
    world.pool.written_nodes = Some(5);
    for machine in &mut world.claims {
        machine.claim.conditions.drifted = true;
        machine.claim.has_grace_period = true;
    }
    world
}

#[test]
fn a_drifted_node_is_listed_then_the_limit_is_lowered_then_it_is_deleted() {
    let mut world = drifted();
    let listed = world.step(noon());
    let entry = listed.replacement.clone().unwrap().replacement.unwrap();
    assert_eq!((entry.reason, &*entry.claim), (ReplacedFor::Drifted, "claim-0"));
    assert!(
        World::event(&listed, EventReason::ReplacementStarted)
            .unwrap()
            .contains("node-0")
    );
    let lowered = world.step(after(1));
    assert_eq!((lowered.spec_limit(), lowered.replace), (Some(4), None));
    world.pool.written_nodes = Some(4);
    let deleted = world.step(after(2));
    assert_eq!(&*deleted.replace.unwrap().name, "claim-0");
    let drains = world.step(after(3));
    assert_eq!(
        (drains.spec_limit(), drains.deadline),
        (None, None),
        "Karpenter ends its drain"
    );
    world.claims.remove(0);
    world.pending.push(needs("1"));
    assert_eq!(world.step(after(30)).spec_limit(), Some(5));
    world.pool.written_nodes = Some(5);
    world.pending.clear();
    let mut newer = Machine::new(9).with_pod("4");
    newer.claim.created = after(31);
    world.claims.push(newer);
    assert_eq!(
        world.step(after(40)).ended[0].outcome,
        ReplacementOutcome::Replaced
    );
    assert_eq!(
        world.step(after(100)).replacement,
        None,
        "a pod was pending less than two minutes ago"
    );
    let next = world.step(after(160)).replacement.unwrap().replacement.unwrap();
    assert_eq!(&*next.claim, "claim-1");
}

#[test]
fn a_replacement_for_drift_needs_each_of_its_conditions() {
    let chosen = |change: &dyn Fn(&mut World)| {
        let mut world = drifted();
        change(&mut world);
        let plan = world.plan_at(noon());
        plan.replacement
            .and_then(|state| state.replacement)
            .map(|replacement| replacement.claim)
    };
    let all =
        |change: fn(&mut Machine)| chosen(&|world: &mut World| world.claims.iter_mut().for_each(change));
    assert_eq!(chosen(&|_| ()).as_deref(), Some("claim-0"));
    assert_eq!(
        chosen(&|world| world.claims[0].claim.conditions.drifted = false).as_deref(),
        Some("claim-1")
    );
    assert_eq!(all(|machine| machine.claim.conditions.drifted = false), None);
    assert_eq!(all(|machine| machine.claim.has_grace_period = false), None);
    assert_eq!(all(|machine| machine.node.as_mut().unwrap().marks = USERS), None);
    assert_eq!(
        all(|machine| machine.node.as_mut().unwrap().marks.keep = true),
        None
    );
    assert_eq!(
        all(|machine| machine.pods[0].do_not_disrupt = Some(DoNotDisrupt::Always)),
        None
    );
    assert_eq!(all(|machine| machine.pods[0].is_bare = true), None);
    assert_eq!(
        chosen(&|world| world.claims[4].claim.conditions.initialized = false),
        None
    );
    assert_eq!(
        chosen(&|world| world.claims[4] = world.claims[4].clone().deleted()),
        None
    );
    assert_eq!(chosen(&|world| world.pool.at_limit = AtLimit::Repair), None);
    assert_eq!(chosen(&|world| world.pool.leaves_limit_to_poolgate = false), None);
    assert_eq!(chosen(&|world| world.pool.is_ready = false), None);
    assert_eq!(chosen(&|world| world.settings.rights.delete = false), None);
    assert_eq!(chosen(&|world| world.pending.push(needs("1"))), None);
    assert_eq!(
        chosen(&|world| world.pool.budgets =
            World::with_mode(0, "Hard", &serde_json::json!([{"nodes": "0"}]))
                .pool
                .budgets),
        None
    );
    assert_eq!(
        chosen(&|world| world.pool.limit.as_mut().unwrap().nodes = 6),
        None
    );
    let mut world = drifted();
    world.replaces_elsewhere = true;
    assert_eq!(
        world.plan_at(noon()).replacement,
        None,
        "one at a time in the cluster"
    );
}

/// Nothing happens to a pool meanwhile: it has to be looked at again.
#[test]
fn an_obstacle_to_a_replacement_for_drift_is_looked_at_again_when_it_may_be_over() {
    let again = |change: &dyn Fn(&mut World)| {
        let mut world = drifted();
        change(&mut world);
        let plan = world.plan_at(noon());
        assert_eq!(plan.replacement, None);
        plan.again_at
    };
    // As after a Lease that was lost and taken again.
    let settled = again(&|world| world.steady_since = Some(clock(after(-1))));
    let at = settled.expect("once everything has settled");
    assert!(
        at > clock(noon()) && at <= clock(noon()).plus(World::new(0).settings.settle),
        "{at:?}"
    );
    assert!(again(&|world| world.replaces_elsewhere = true).is_some());
}

#[test]
fn a_node_that_cannot_be_drained_without_harm_is_left_alone_for_some_minutes_and_reported() {
    let mut world = drifted();
    let uid = std::sync::Arc::clone(&world.claims[0].claim.uid);
    world
        .memory
        .refuse(&uid, "PodDisruptionBudget a/b allows none".into(), clock(noon()));
    let plan = world.step(noon());
    let next = plan.replacement.clone().unwrap().replacement.unwrap();
    assert_eq!(&*next.claim, "claim-1");
    assert_eq!(
        World::event(&plan, EventReason::ReplacementBlocked),
        Some("a drifted node is not replaced: PodDisruptionBudget a/b allows none")
    );
    world.ledger.replacement = None;
    let plan = world.plan_at(after(300));
    assert_eq!(&*plan.replacement.unwrap().replacement.unwrap().claim, "claim-0");
}

#[test]
fn a_surge_is_room_for_replacements_and_what_it_admitted_is_not_too_many_while_it_lasts() {
    let mut world = World::new(5).with_full_nodes(5).terminating();
    for machine in &mut world.claims {
        machine.claim.conditions.drifted = true;
    }
    assert_eq!(world.plan().hold.len(), 5);
    world.pool.surge = 1;
    assert_eq!(world.plan().hold.len(), 4, "room for one replacement");
    let numbers = world.plan().numbers;
    assert_eq!(numbers.remaining, Some(0), "and none for anything else");
    world.claims[0] = world.claims[0].clone().disrupted(noon());
    let mut replacement = Machine::new(9);
    replacement.claim.created = noon();
    world.ledger.surged = vec![std::sync::Arc::clone(&replacement.claim.uid)];
    world.claims.push(replacement);
    let plan = world.plan();
    assert_eq!((plan.numbers.excess, plan.victims), (0, None));
    let excess = |change: &dyn Fn(&mut World)| {
        let mut other = World::new(5).terminating();
        other.pool.surge = 1;
        other.claims.clone_from(&world.claims);
        other.ledger = world.ledger.clone();
        change(&mut other);
        other.plan().numbers.excess
    };
    assert_eq!(excess(&|_| ()), 0);
    assert_eq!(
        excess(&|world| world.claims[0].claim.conditions.disruption = None),
        1,
        "it is no longer disrupted"
    );
    assert_eq!(
        excess(&|world| world.claims[0].claim.conditions.rebooting = true),
        1
    );
    assert_eq!(
        excess(&|world| world.claims[0] = world.claims[0].clone().deleted()),
        0,
        "it goes"
    );
    assert_eq!(
        excess(&|world| world.ledger.surged.clear()),
        1,
        "it was admitted otherwise"
    );
}
