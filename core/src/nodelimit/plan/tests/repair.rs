//! Broken nodes of a full pool: held, retried, listed, deleted, bounded, replaced.

use jiff::{SignedDuration, Timestamp};

use super::super::*;
use super::world::*;
use crate::api::{AtLimit, NodeLimitMode};
use crate::nodelimit::ledger::{ReplacedFor, Stopped};

type Change = Box<dyn Fn(&mut World)>;

pub fn after(seconds: i64) -> Timestamp {
    noon() + SignedDuration::from_secs(seconds)
}

/// A full pool of five busy nodes, all of them held, that poolgate may replace.
pub fn full() -> World {
    let mut world = World::new(5).with_full_nodes(5);
    world.pool.is_ready = true;
    world.pool.class_ready_since = Some(noon() - minutes(60));
    world.step(noon() - minutes(3));
    world
}

impl World {
    /// Karpenter tries to repair a node, and the gate denies the replacement.
    pub fn try_to_repair(&mut self, index: usize, at: Timestamp) {
        self.begin_to_repair(index, at);
        self.denied(at);
    }

    fn begin_to_repair(&mut self, index: usize, at: Timestamp) {
        let machine = &mut self.claims[index];
        *machine = machine.clone().disrupted(at);
        let is_repair = true;
        machine.claim.conditions.disruption = Some(Disruption { since: at, is_repair });
        machine.tries = Some(Tries::seen(machine.tries, at, clock(at)));
    }

    /// Karpenter sees the mark: it takes everything back.
    pub fn give_up_on(&mut self, index: usize) {
        let machine = &mut self.claims[index];
        machine.claim.conditions.disruption = None;
        machine.node.as_mut().unwrap().taints = std::sync::Arc::default();
        machine.tries = None;
    }

    /// Whether Karpenter would try to repair a node if it were broken.
    pub fn may_be_tried(&self, index: usize) -> bool {
        self.claims[index].claim.deleted.is_none() && !self.is_held_from_repair(index)
    }

    fn is_held_from_repair(&self, index: usize) -> bool {
        self.claims[index].node.as_ref().unwrap().marks.do_not_repair
    }

    pub fn event(plan: &Plan, reason: EventReason) -> Option<&str> {
        let mut events = plan.events.iter().filter(|event| event.reason == reason);
        events.next().map(|event| &*event.message)
    }
}

/// Two tries that were denied: the repair of the first node is stuck. Returns the plan that sees it.
fn get_stuck(world: &mut World) -> Plan {
    world.try_to_repair(0, noon());
    world.step(noon());
    world.try_to_repair(0, after(1));
    world.step(after(1))
}

#[test]
fn a_node_that_karpenter_tries_to_repair_again_is_listed_deleted_bounded_and_replaced() {
    let mut world = full();
    world.try_to_repair(0, noon());
    let first = world.step(noon());
    assert_eq!(first.replacement, None, "an accepted command looks like one try");
    assert!(!world.is_held_from_repair(0));
    world.try_to_repair(0, after(1));
    let listed = world.step(after(1));
    let entry = listed.replacement.clone().unwrap().replacement.unwrap();
    assert_eq!((&*entry.claim, &*entry.node), ("claim-0", "node-0"));
    assert_eq!(listed.replace, None, "nothing is deleted before it is listed");
    assert_eq!(
        World::event(&listed, EventReason::ReplacementStarted),
        Some(
            "node node-0 (NodeClaim claim-0) needs repair, but the pool is at its limit, so poolgate deletes it first (drain \
             limited to 600 s). Until it is gone, Karpenter's requests for a replacement are denied"
        )
    );
    let deleted = world.step(after(2));
    assert_eq!(&*deleted.replace.unwrap().name, "claim-0");
    let bounded = world.step(after(3));
    let deadline = bounded.deadline.unwrap();
    assert_eq!((&*deadline.claim.name, deadline.at), ("claim-0", after(2 + 600)));
    assert_eq!(world.step(after(4)).deadline, None);
    world.claims.remove(0);
    let gone = world.step(after(5));
    assert_eq!((gone.replacement, gone.ended), (None, Vec::new()));
    let mut newer = Machine::unlaunched(9);
    newer.claim.created = after(6);
    world.claims.push(newer);
    assert_eq!(world.step(after(6)).replacement, None, "it is not initialized");
    world.claims[4].claim.conditions.initialized = true;
    let done = world.step(after(30));
    assert_eq!(done.replacement, Some(ReplacementState::default()));
    assert_eq!(done.ended[0].outcome, ReplacementOutcome::Replaced);
    assert_eq!(world.plan_at(after(31)).replacement, None);
}

/// Plans, writes the limit that Karpenter sees, and returns it if it was written.
fn step_and_write(world: &mut World, at: Timestamp) -> Option<u32> {
    let written = world.step(at).spec_limit();
    world.pool.written_nodes = written.or(world.pool.written_nodes);
    written
}

#[test]
fn broken_nodes_go_one_by_one_where_the_limit_is_left_to_poolgate_and_each_costs_two_writes() {
    let mut world = World::new(6).with_full_nodes(6);
    world.pool.is_ready = true;
    world.pool.leaves_limit_to_poolgate = true;
    world.pool.written_nodes = Some(6);
    world.step(noon() - minutes(3));
    let mut broken = vec!["claim-0", "claim-1"];
    let (mut writes, mut made) = (Vec::new(), 0);
    for second in 0..300 {
        let at = after(second);
        writes.extend(step_and_write(&mut world, at));
        // Every other second Karpenter takes its last try back, and tries the first node that it may. It refuses the
        // replacement itself above the limit that it sees; otherwise the gate denies it.
        let is_round = second % 2 == 0;
        for index in (0..world.claims.len()).filter(|_| is_round) {
            let tries = world.claims[index].tries;
            world.give_up_on(index);
            world.claims[index].tries = tries;
        }
        let is_tried = |world: &World, index: usize| {
            broken.contains(&&*world.claims[index].claim.name) && world.may_be_tried(index)
        };
        let tried = (0..world.claims.len()).find(|index| is_tried(&world, *index));
        if let Some(index) = tried.filter(|_| is_round) {
            world.claims[index] = world.claims[index].clone().tainted();
            writes.extend(step_and_write(&mut world, at));
            let undeleted = world
                .claims
                .iter()
                .filter(|machine| machine.claim.deleted.is_none());
            let counted = u32::try_from(undeleted.count()).ok();
            world.begin_to_repair(index, at);
            if world.pool.written_nodes >= counted {
                world.denied(at);
            }
            writes.extend(step_and_write(&mut world, at));
        }
        // What is deleted is gone ten seconds later, and its pods need a node.
        let is_gone = |machine: &Machine| {
            machine
                .claim
                .deleted
                .is_some_and(|since| since <= after(second - 10))
        };
        if let Some(index) = world.claims.iter().position(is_gone) {
            let gone = world.claims.remove(index).claim.name;
            broken.retain(|name| **name != *gone);
            writes.extend(step_and_write(&mut world, at));
            made += 1;
            let mut newer = Machine::new(10 + made).with_pod("4");
            newer.claim.created = at;
            world.claims.push(newer);
        }
    }
    assert_eq!((broken.len(), made), (0, 2));
    assert_eq!(writes, [5_u32, 6, 5, 6]);
}

#[test]
fn a_stuck_repair_needs_each_of_its_conditions() {
    let listed = |change: &dyn Fn(&mut World)| {
        let mut world = full();
        world.try_to_repair(0, noon());
        world.step(noon());
        world.try_to_repair(0, after(1));
        change(&mut world);
        world.plan_at(after(1)).replacement.is_some()
    };
    assert!(listed(&|_| ()));
    assert!(
        !listed(&|world| world.claims[0].tries = None),
        "nothing old counts after a restart"
    );
    assert!(!listed(
        &|world| world.claims[0].claim.conditions.initialized = false
    ));
    assert!(!listed(&|world| world.claims[0].claim.conditions.rebooting = true));
    assert!(
        !listed(&|world| world.denied_at = Some(clock(noon() - minutes(1)))),
        "denied before it began"
    );
    assert!(
        !listed(&|world| world.claims[1].claim.created = after(1)),
        "a claim that is newer may be its replacement"
    );
    assert!(!listed(&|world| {
        let other = Disruption {
            since: after(1),
            is_repair: false,
        };
        world.claims[0].claim.conditions.disruption = Some(other);
    }));
    assert!(
        !listed(&|world| {
            let node = world.claims[0].node.as_mut().unwrap();
            node.marks.do_not_repair = true;
        }),
        "a user's mark"
    );
}

#[test]
fn a_stuck_repair_counts_for_a_minute_after_the_last_try() {
    let mut world = full();
    get_stuck(&mut world);
    assert!(world.plan_at(after(61)).replace.is_some());
    let plan = world.step(after(62));
    assert_eq!(
        plan.replacement,
        Some(ReplacementState::default()),
        "it is taken off the list"
    );
    assert_eq!(plan.ended[0].outcome, ReplacementOutcome::Cancelled);
    assert!(world.is_held_from_repair(0));
}

#[test]
fn an_obstacle_leaves_the_node_held_from_repair_and_deletes_nothing() {
    let stopped = Stopped {
        at: 0,
        template: full().pool.template_hash,
        class_ready_since: Some((noon() - minutes(60)).as_second()),
    };
    let cases: Vec<(&str, Change)> = vec![
        (
            "at-limit is Block",
            Box::new(|world| world.pool.at_limit = AtLimit::Block),
        ),
        (
            "no right to delete NodeClaims",
            Box::new(|world| world.settings.rights.delete = false),
        ),
        (
            "no right to patch NodeClaims",
            Box::new(|world| world.settings.rights.patch = false),
        ),
        ("is not ready", Box::new(|world| world.pool.is_ready = false)),
        (
            "was not replaced",
            Box::new(move |world| world.ledger.stopped = Some(stopped)),
        ),
        (
            "more nodes than its limit",
            Box::new(|world| world.pool.limit.as_mut().unwrap().nodes = 4),
        ),
        ("", Box::new(|world| world.steady_since = None)),
        (
            "",
            Box::new(|world| world.steady_since = Some(clock(noon() - minutes(2)))),
        ),
        (
            "",
            Box::new(|world| world.ledger.reservations = vec!["new".into()]),
        ),
        ("", Box::new(|world| world.terminations_left = 0)),
    ];
    for (index, (why, change)) in cases.into_iter().enumerate() {
        let mut world = full();
        change(&mut world);
        world.try_to_repair(0, noon());
        world.step(noon());
        assert!(
            !world.is_held_from_repair(0),
            "{index} {why}: the denial may have been for a pod"
        );
        world.try_to_repair(0, after(1));
        let plan = world.step(after(1));
        assert!(world.is_held_from_repair(0), "{index} {why}");
        assert!(!world.is_held_from_repair(1), "{index} {why}");
        assert_eq!(
            (&plan.replacement, &plan.replace),
            (&None, &None),
            "{index} {why}"
        );
        let event = World::event(&plan, EventReason::ReplacementBlocked);
        assert_eq!(event.is_some(), !why.is_empty(), "{index} {why} {event:?}");
        assert!(event.is_none_or(|event| event.contains(why)), "{event:?}");
    }
}

#[test]
fn a_limit_that_was_typed_wrong_deletes_nobody_until_it_has_lasted() {
    let mut world = full();
    let typed = noon() - minutes(1);
    world.pool.limit.as_mut().unwrap().nodes = 50;
    world.step(typed);
    world.pool.limit.as_mut().unwrap().nodes = 5;
    world.step(typed + SignedDuration::from_secs(1));
    get_stuck(&mut world);
    assert_eq!(world.ledger.replacement, None);
    assert!(world.is_held_from_repair(0));
    world.give_up_on(0);
    world.step(typed + minutes(3) + SignedDuration::from_secs(2));
    assert!(!world.is_held_from_repair(0), "now it is retried");
}

#[test]
fn a_node_held_from_repair_is_retried_and_dropped_if_karpenter_no_longer_asks() {
    let mut world = full();
    world.settings.rights.patch = false;
    get_stuck(&mut world);
    world.give_up_on(0);
    world.step(after(5));
    assert!(world.is_held_from_repair(0), "it stays held");
    world.settings.rights.patch = true;
    let plan = world.step(after(10));
    assert!(!world.is_held_from_repair(0));
    assert_eq!(plan.again_at, Some(clock(after(70))));
    world.step(after(69));
    let dropped = world.step(after(70));
    assert_eq!(dropped.ended[0].outcome, ReplacementOutcome::Dropped);
    assert!(World::event(&dropped, EventReason::ReplacementDropped).is_some());
    assert_eq!(world.step(after(71)).ended, Vec::new());
    assert!(!world.is_held_from_repair(0));
}

#[test]
fn broken_nodes_are_retried_one_at_a_time() {
    let mut world = full();
    for index in 0..3 {
        world.try_to_repair(index, noon());
        world.try_to_repair(index, after(1));
    }
    world.step(after(1));
    let held: Vec<bool> = (0..3).map(|index| world.is_held_from_repair(index)).collect();
    assert_eq!(held, [false, true, true]);
    world.give_up_on(1);
    world.give_up_on(2);
    world.step(after(2));
    assert!(world.claims[0].claim.deleted.is_some());
    world.step(after(3));
    assert!(
        world.is_held_from_repair(1) && world.is_held_from_repair(2),
        "until it is replaced"
    );
    world.claims.remove(0);
    let mut newer = Machine::new(9).with_pod("4");
    newer.claim.created = after(10);
    world.claims.push(newer);
    world.step(after(20));
    assert_eq!(world.ledger.replacement, None);
    world.step(after(21));
    assert_eq!(
        (world.is_held_from_repair(0), world.is_held_from_repair(1)),
        (false, true)
    );
}

#[test]
fn a_node_that_is_not_replaced_stops_replacements_until_the_template_or_the_class_changes() {
    let mut world = full();
    get_stuck(&mut world);
    world.step(after(2));
    world.claims.remove(0);
    world.pending.push(needs("1"));
    world.step(after(3));
    assert_eq!(world.plan_at(after(3 + 899)).ended, Vec::new());
    let stopped = world.step(after(3 + 900));
    assert_eq!(stopped.ended[0].outcome, ReplacementOutcome::Stopped);
    assert!(World::event(&stopped, EventReason::ReplacementStopped).is_some());
    assert!(stopped.events.iter().any(|event| event.reason.is_warning()));
    let stopped = serde_json::to_value(world.ledger.stopped).unwrap();
    assert_eq!(stopped["template"], world.pool.template_hash);
    let goes_on = |change: &dyn Fn(&mut World)| {
        let mut world = world_of(&world);
        change(&mut world);
        world.plan_at(after(2000)).replacement == Some(ReplacementState::default())
    };
    assert!(!goes_on(&|_| ()));
    assert!(!goes_on(&|world| world.pool.class_ready_since = None));
    assert!(goes_on(&|world| world.pool.class_ready_since = Some(after(1000))));
    assert!(goes_on(&|world| world.pool.template_hash += 1));
}

#[test]
fn a_limit_that_was_lowered_meanwhile_does_not_stop_replacements() {
    let mut world = full();
    get_stuck(&mut world);
    world.step(after(2));
    world.claims.remove(0);
    world.pending.push(needs("1"));
    world.pool.limit.as_mut().unwrap().nodes -= 1;
    world.step(after(3));
    let ended = world.step(after(3 + 900));
    assert_eq!(ended.ended[0].outcome, ReplacementOutcome::Replaced);
    assert_eq!(world.ledger.stopped, None);
}

/// The same pool, ledger and claims, without memory.
fn world_of(other: &World) -> World {
    let mut world = full();
    world.claims.clone_from(&other.claims);
    world.ledger = other.ledger.clone();
    world
}

#[test]
fn a_node_that_no_pod_needs_any_more_counts_as_replaced() {
    let mut world = full();
    get_stuck(&mut world);
    world.step(after(2));
    world.claims.remove(0);
    world.step(after(3));
    let plan = world.step(after(3 + 900));
    assert_eq!(plan.ended[0].outcome, ReplacementOutcome::Replaced);
    assert_eq!((world.ledger.replacement, world.ledger.stopped), (None, None));
}

#[test]
fn a_listed_claim_is_taken_off_after_a_restart_and_a_deleted_one_is_bounded() {
    let mut world = full();
    get_stuck(&mut world);
    let mut restarted = world_of(&world);
    restarted.claims[0].tries = None;
    let plan = restarted.step(after(2));
    assert_eq!((plan.replace, plan.deadline), (None, None));
    assert_eq!(restarted.ledger.replacement, None);
    let mut restarted = world_of(&world);
    restarted.claims[0].claim.deleted = Some(after(1));
    assert!(restarted.step(after(2)).deadline.is_some());
    for change in [
        |claim: &mut Claim| claim.has_deadline = true,
        |claim: &mut Claim| claim.has_grace_period = true,
    ] {
        let mut bounded = world_of(&world);
        bounded.claims[0].claim.deleted = Some(after(1));
        change(&mut bounded.claims[0].claim);
        assert_eq!(bounded.step(after(2)).deadline, None);
    }
}

#[test]
fn a_node_whose_replacement_has_room_is_repaired_by_karpenter() {
    let mut world = full();
    world.pool.at_limit = AtLimit::Block;
    get_stuck(&mut world);
    world.give_up_on(0);
    world.step(after(30));
    assert!(world.is_held_from_repair(0));
    world.pool.limit.as_mut().unwrap().nodes = 6;
    world.step(after(70));
    assert!(!world.is_held_from_repair(0));
    assert_eq!(world.ledger.replacement, None);
}

#[test]
fn a_node_that_another_pools_limit_keeps_from_being_replaced_is_left_alone_for_some_minutes() {
    // With a limit of its own, this pool has room.
    for (is_repair, has_limit) in [(true, false), (false, false), (false, true)] {
        let mut world = World::new(5).with_full_nodes(2);
        world.pool.limit = world.pool.limit.filter(|_| has_limit);
        let is_marked = |world: &World| {
            let marks = world.claims[0].node.as_ref().unwrap().marks;
            if is_repair {
                marks.do_not_repair
            } else {
                marks.do_not_disrupt
            }
        };
        for seconds in [0, 1] {
            world.begin_to_repair(0, after(seconds));
            let since = after(seconds);
            world.claims[0].claim.conditions.disruption = Some(Disruption { since, is_repair });
            world.denied_anywhere_at = Some(clock(after(seconds)));
            world.step(after(seconds));
            assert_eq!(is_marked(&world), seconds == 1, "one try may succeed");
        }
        world.give_up_on(0);
        world.step(after(290));
        assert!(is_marked(&world));
        world.step(after(310));
        assert!(!is_marked(&world));
    }
}

#[test]
fn a_reboot_is_not_a_replacement() {
    let mut world = full();
    world.begin_to_repair(0, noon());
    world.claims[0].claim.conditions.rebooting = true;
    world.denied(noon());
    let plan = world.step(noon());
    assert!(!world.is_held_from_repair(0));
    assert_eq!((plan.numbers.unrepaired, plan.replacement), (0, None));
    let mut soft = World::with_mode(5, "Soft", &serde_json::json!([]));
    soft.claims.push(world.claims[0].clone());
    assert_eq!(
        soft.plan().numbers.nodes,
        1,
        "Soft counts a node that is rebooted"
    );
}

#[test]
fn static_pools_and_soft_ones_are_karpenters() {
    let mut fixed = full();
    fixed.pool.is_static = true;
    get_stuck(&mut fixed);
    assert!(!fixed.is_held_from_repair(0) && fixed.ledger.replacement.is_none());
    let mut soft = full();
    soft.pool.limit.as_mut().unwrap().mode = NodeLimitMode::Soft;
    get_stuck(&mut soft);
    assert_eq!(soft.ledger.replacement, None, "its limit is not in the way");
}

#[test]
fn marks_of_both_kinds_are_set_and_removed_each_by_itself() {
    let mut world = full();
    world.pool.at_limit = AtLimit::Block;
    get_stuck(&mut world);
    let marks = world.claims[0].node.as_ref().unwrap().marks;
    assert_eq!(
        (marks.do_not_disrupt, marks.do_not_repair, marks.held_annotation),
        (true, true, Some(HeldFor::parse("node-limit,repair")))
    );
    world.pool.limit = None;
    world.give_up_on(0);
    world.step(after(2));
    let marks = world.claims[0].node.as_ref().unwrap().marks;
    assert_eq!((marks.do_not_disrupt, marks.do_not_repair), (false, true));
    world.pool.is_static = true;
    world.step(after(3));
    let marks = world.claims[0].node.as_ref().unwrap().marks;
    assert_eq!(marks, Marks::default());
    assert_eq!(ReplacedFor::Unhealthy.as_str(), "Unhealthy");
}

#[test]
fn two_nodes_for_which_the_surge_is_used_up_leave_karpenter_time_for_other_pools() {
    // Karpenter waits twice as long after each error, whatever it has waited before poolgate was there.
    let begun = [1, 10, 41, 82, 164, 328];
    for (surge, begins_with) in [1, 2]
        .into_iter()
        .flat_map(|surge| begun.map(|begun| (surge, begun)))
    {
        let mut world = World::new(5).with_full_nodes(6);
        world.pool.surge = surge;
        for index in [0, 1] {
            world.claims[index].node.as_mut().unwrap().is_ready = false;
        }
        let (mut round, mut backoff) = (0, begins_with);
        let mut others = Vec::new();
        for second in 0..7_200 {
            if second == round {
                for index in [0, 1] {
                    world.claims[index].claim.conditions.disruption = None;
                }
                if let Some(index) = [0, 1].into_iter().find(|index| world.may_be_tried(*index)) {
                    world.try_to_repair(index, after(second));
                    round += backoff;
                    backoff = (backoff * 2).min(1_000);
                } else {
                    others.push(second);
                    round += 10;
                    backoff = 1;
                }
            }
            world.step(after(second));
        }
        let waits = others.windows(2).map(|pair| pair[1] - pair[0]).max();
        assert!(
            waits.is_some_and(|longest| longest < 180),
            "a surge of {surge}, and it began with {begins_with} s"
        );
    }
}

#[test]
fn a_node_for_which_the_surge_is_used_up_waits_until_it_is_free_again() {
    let mut world = full();
    world.pool.surge = 1;
    world.claims.push(Machine::new(9));
    get_stuck(&mut world);
    assert!(world.is_held_from_repair(0));
    assert_eq!(world.ledger.replacement, None);
    world.give_up_on(0);
    world.claims.pop();
    world.step(after(70));
    assert!(!world.is_held_from_repair(0), "Karpenter replaces it");
    assert_eq!(world.ledger.replacement, None);
}
