//! Pools of any kind.

use std::sync::Arc;

use jiff::SignedDuration;
use proptest::prelude::*;
use serde_json::json;

use super::super::*;
use super::world::*;
use crate::api::{AtLimit, NodeLimitMode};
use crate::nodelimit::ledger::{ReplacedFor, Replacement, Uid};
use crate::pods::*;

pub fn seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

prop_compose! {
    fn any_pod()(
        cpu in prop::sample::select(vec!["500m", "1", "1500m", "2", "3"]),
        kind in 0..10_u8,
        wish in prop::option::weighted(0.1, Just(DoNotDisrupt::Always)),
    ) -> Pod {
        let mut pod = pod(cpu);
        pod.do_not_disrupt = wish;
        match kind {
            0 => pod.is_daemon = true,
            1 => pod.is_terminal = true,
            2 => pod.is_leaving = true,
            3 => Arc::make_mut(&mut pod.needs).others.volumes = true,
            4 => {
                let toleration = Toleration { key: Some("t".to_owned()), value: Tolerated::Any, effect: None };
                Arc::make_mut(&mut pod.needs).tolerations.push(toleration);
            }
            _ => {}
        }
        pod
    }
}

prop_compose! {
    fn any_machine()(
        pods in prop::collection::vec(any_pod(), 0..3),
        (is_drifted, consolidatable, is_ready) in (prop::bool::weighted(0.3), prop::bool::weighted(0.8), prop::bool::weighted(0.9)),
        stage in 0..12_u8,
        disrupted in prop::option::weighted(0.2, prop::option::weighted(0.75, 0..60_i64)),
        repair in 0..4_u8,
        is_deleted in prop::bool::weighted(0.08),
        marks in 0..9_u8,
        is_tainted in prop::bool::weighted(0.1),
        age in 0..30_usize,
    ) -> Machine {
        let mut machine = Machine::new(age);
        machine.pods = pods;
        let conditions = &mut machine.claim.conditions;
        conditions.drifted = is_drifted;
        conditions.consolidatable = consolidatable;
        match stage {
            0 => return Machine::unlaunched(age),
            1 => conditions.initialized = false,
            _ => {}
        }
        let node = machine.node.as_mut().unwrap();
        node.is_ready = is_ready;
        node.is_cordoned = stage == 2;
        node.marks = match marks {
            0 => USERS,
            1..=3 => HELD,
            4 => Marks { keep: true, ..HELD },
            5 => Marks { do_not_disrupt: false, ..HELD },
            7 if repair == 0 => Marks { do_not_repair: true, ..Marks::default() },
            7 => Marks { held_label: true, do_not_repair: true, held_annotation: Some(HeldFor::parse("repair")), ..Marks::default() },
            6 => Marks { keep: true, ..Marks::default() },
            _ => Marks::default(),
        };
        if is_tainted {
            node.taint(NodeTaint { key: "t".to_owned(), value: String::new(), effect: Effect::NoSchedule });
        }
        if let Some(since) = disrupted {
            machine = match since {
                Some(since) => machine.disrupted(noon() - seconds(since)),
                None => machine.tainted(),
            };
        }
        if let Some(disruption) = &mut machine.claim.conditions.disruption {
            disruption.is_repair = repair < 2;
            machine.claim.conditions.rebooting = repair == 0 && age % 3 == 0;
            let tried = |tries, seconds: i64| {
                let at = noon() - self::seconds(seconds);
                Some(Tries::seen(tries, at, clock(at)))
            };
            machine.tries = tried(None, 5);
            if repair != 3 {
                machine.tries = tried(machine.tries, 2);
            }
        }
        if is_deleted {
            machine = machine.deleted();
        }
        machine
    }
}

prop_compose! {
    pub fn any_world()(
        machines in prop::collection::vec(any_machine(), 0..8),
        above in -3..6_i64,
        (mode, is_written) in prop::sample::select(vec![("Hard", true), ("Hard", true), ("Hard", false), ("Soft", true)]),
        budgets in prop::sample::select(vec![json!([]), json!([]), json!([{"nodes": "1"}]), json!([{"nodes": "30%"}, {"nodes": "2", "reasons": ["Drifted"]}])]),
        (is_terminating, is_static, may_terminate) in (any::<bool>(), prop::bool::weighted(0.05), prop::bool::weighted(0.95)),
        pending in prop::option::weighted(0.2, Just(needs("1"))),
        denial in prop::option::of(0..300_i64),
        reservations in prop::collection::vec(0..12_usize, 0..3),
        victims in prop::collection::vec(0..9_usize, 0..4),
        (left, surge) in (0..5_usize, prop::sample::select(vec![0, 0, 1, 2])),
        lost in prop::option::weighted(0.1, prop::option::of(0..2_u64)),
        (is_ready, at_limit, listed) in (prop::bool::weighted(0.9), prop::sample::select(vec![AtLimit::Block, AtLimit::Repair, AtLimit::Replace]), prop::option::weighted(0.2, 0..9_usize)),
    ) -> World {
        let limit = (i64::try_from(machines.len()).unwrap() + above).max(0);
        let mut world = World::with_mode(u32::try_from(limit).unwrap(), mode, &budgets);
        if is_terminating {
            world = world.terminating();
        }
        for (index, mut machine) in machines.into_iter().enumerate() {
            machine.claim.uid = format!("uid-{index}").into();
            machine.claim.name = format!("claim-{index}").into();
            if let Some(node) = &mut machine.node {
                node.name = format!("node-{index}").into();
            }
            world.claims.push(machine);
        }
        world.pool.is_static = is_static;
        world.pool.mode_is_written = is_written;
        world.settings.rights.terminate = may_terminate;
        world.pending.extend(pending);
        if let Some(ago) = denial {
            world.denied(noon() - seconds(ago));
        }
        world.ledger.reservations = reservations.into_iter().map(|uid| format!("uid-{uid}").into()).collect();
        world.ledger.victims = victims.into_iter().map(|uid| format!("uid-{uid}").into()).collect();
        world.terminations_left = left;
        if world.pool.limit.unwrap().mode == NodeLimitMode::Hard {
            world.pool.surge = surge;
        }
        if let Some(lost) = lost {
            world.ledger = lost.map_or_else(LedgerState::default, |over| LedgerState {
                identity: ledger("ledger", Some(over)).identity,
                ..world.ledger
            });
        }
        world.pool.is_ready = is_ready;
        world.pool.at_limit = at_limit;
        let is_there = world.ledger.identity.is_some();
        world.ledger.replacement = listed.filter(|_| is_there).map(|uid| Replacement {
            uid: Uid::new(&format!("uid-{uid}")).unwrap(),
            claim: "listed".into(),
            node: "listed".into(),
            reason: ReplacedFor::Unhealthy,
            newest: 0,
        });
        world
    }
}
