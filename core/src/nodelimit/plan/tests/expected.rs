//! The expected result of a plan, computed in the simplest way, however slow.

use std::collections::BTreeSet;

use super::super::*;
use super::machine::Machine;
use super::world::World;
use crate::api::NodeLimitMode;
use crate::karpenter::DISRUPTED_TAINT;

/// Whether pods fit into what is left of nodes, by trying every way.
fn pack(pods: &[&Pod], rooms: &mut [(&Machine, i64)]) -> bool {
    let Some((pod, others)) = pods.split_first() else {
        return true;
    };
    let cpu = pod.needs.requests.amount("cpu");
    (0..rooms.len()).any(|index| {
        let (host, left) = rooms[index];
        let node = host.node.as_ref().unwrap();
        let tolerates = node.taints.iter().all(|taint| {
            pod.needs
                .tolerations
                .iter()
                .any(|own| own.key.as_ref() == Some(&taint.key))
        });
        if pod.needs.is_bound || left < cpu || !tolerates {
            return false;
        }
        rooms[index].1 -= cpu;
        let fits = pack(others, rooms);
        rooms[index].1 += cpu;
        fits
    })
}

pub fn moving(machine: &Machine) -> Vec<&Pod> {
    let stays = |pod: &&Pod| pod.is_daemon || pod.is_mirror || pod.is_terminal || pod.is_leaving;
    machine.pods.iter().filter(|pod| !stays(pod)).collect()
}

fn left(machine: &Machine) -> i64 {
    let used = machine
        .pods
        .iter()
        .filter(|pod| !pod.is_terminal)
        .map(|pod| pod.needs.requests.amount("cpu"));
    4_000 - used.sum::<i64>()
}

/// Whether Karpenter is disrupting it. A reboot is not a disruption.
pub fn is_tainted(machine: &Machine) -> bool {
    !machine.claim.conditions.rebooting
        && machine
            .node
            .as_ref()
            .is_some_and(|node| node.taints.iter().any(|taint| taint.key == DISRUPTED_TAINT))
}

fn is_closed(machine: &Machine) -> bool {
    let marks = machine.node.as_ref().unwrap().marks;
    let disruption = machine.claim.conditions.disruption;
    if disruption.is_some_and(|disruption| disruption.is_repair) {
        marks.do_not_repair
    } else {
        marks.do_not_disrupt
    }
}

/// The nodes that Karpenter could disrupt.
pub fn open(world: &World) -> Vec<&Machine> {
    let is_open = |machine: &&Machine| {
        let conditions = machine.claim.conditions;
        let is_candidate = machine.claim.deleted.is_none() && conditions.initialized && !conditions.rebooting;
        is_candidate
            && !is_tainted(machine)
            && machine
                .node
                .as_ref()
                .is_some_and(|node| !node.marks.do_not_disrupt)
    };
    world.claims.iter().filter(is_open).collect()
}

/// The places left, minus those for replacements to come.
pub fn places(world: &World) -> usize {
    let mut uids: BTreeSet<&str> = world.claims.iter().map(|machine| &*machine.claim.uid).collect();
    let claims = uids.len();
    uids.extend(world.ledger.reservations.iter().map(|uid| &**uid));
    // What was tried again has failed before, if the gate denied since then.
    let is_denied = |machine: &Machine| {
        let has_failed = |tries: Tries| tries.have_failed() && world.denied_at >= Some(tries.first);
        machine.tries.is_some_and(has_failed)
    };
    let limit = (world.pool.limit.unwrap().nodes + world.pool.surge) as usize;
    let free = limit.saturating_sub(uids.len());
    let is_begun = |machine: &&Machine| {
        machine.claim.deleted.is_none() && is_tainted(machine) && !is_closed(machine) && !is_denied(machine)
    };
    let mut begun: Vec<_> = world
        .claims
        .iter()
        .filter(is_begun)
        .map(|m| {
            m.claim
                .conditions
                .disruption
                .map_or(jiff::Timestamp::MAX, |disruption| disruption.since)
        })
        .collect();
    begun.sort();
    let mut made: Vec<_> = world
        .claims
        .iter()
        .filter(|m| m.claim.deleted.is_none())
        .map(|m| m.claim.created)
        .collect();
    made.extend(std::iter::repeat_n(jiff::Timestamp::MAX, uids.len() - claims));
    // As many pairs as possible: the latest disruptions are the hardest to match.
    let mut waiting = 0;
    while let Some(since) = begun.pop() {
        match made.iter().position(|created| *created >= since) {
            Some(index) => drop(made.remove(index)),
            None => waiting += 1,
        }
    }
    free.saturating_sub(waiting)
}

pub fn is_governed(world: &World) -> bool {
    let is_hard = world.pool.limit.unwrap().mode == NodeLimitMode::Hard;
    is_hard && !world.pool.is_static
}

/// Whether so few of these nodes need replacements: the pods of all others fit together on nodes that stay.
pub fn need_at_most(places: usize, world: &World, open: &[&Machine]) -> bool {
    let full: Vec<&Machine> = open
        .iter()
        .copied()
        .filter(|machine| !moving(machine).is_empty())
        .collect();
    (0..1_u32 << full.len())
        .filter(|set| set.count_ones() as usize <= places)
        .any(|set| {
            let leave = |index: usize| set & (1 << index) == 0;
            let pods: Vec<&Pod> = full
                .iter()
                .enumerate()
                .filter(|(index, _)| leave(*index))
                .flat_map(|(_, m)| moving(m))
                .collect();
            let stays = |machine: &&Machine| {
                let node = machine.node.as_ref();
                let usable = node.is_some_and(|node| node.is_ready && !node.is_cordoned);
                let is_open = open.iter().any(|open| open.claim.uid == machine.claim.uid);
                usable
                    && !is_open
                    && !is_tainted(machine)
                    && machine.claim.deleted.is_none()
                    && machine.claim.conditions.initialized
            };
            let mut rooms: Vec<_> = world
                .claims
                .iter()
                .filter(stays)
                .map(|machine| (machine, left(machine)))
                .collect();
            pack(&pods, &mut rooms)
        })
}
