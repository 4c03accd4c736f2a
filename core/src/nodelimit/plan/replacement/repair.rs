//! Broken nodes of a full pool: one at a time is not held from repair, to see whether Karpenter still wants to repair it.

use std::sync::Arc;
use std::time::Duration;

use super::{Obstacle, ReplacementOutcome, Replacements};
use crate::nodelimit::ledger::ReplacedFor;
use crate::nodelimit::plan::situation::{Memory, Retry, Situation};
use crate::nodelimit::plan::state::ClaimState;

/// How long a node is held from repair at least if the pool has room for its replacement, and Karpenter was denied it
/// all the same: another node took the room.
const WITH_ROOM: Duration = Duration::from_mins(1);

/// How long a node is held from repair at least if another pool is full, and nothing here shows when it no longer is.
const BECAUSE_OF_ANOTHER: Duration = Duration::from_mins(5);

/// How long a node is held from repair at least if nothing can be done about it: then the retry only shows whether it is
/// still broken.
const WITHOUT_ROOM: Duration = Duration::from_mins(10);

/// Continues or ends a retry, and begins the next one. A node whose repair is stuck is listed.
pub fn retry<'p>(situation: &Situation<'p>, memory: &mut Memory, decided: &mut Replacements<'p>) {
    if let Some(retry) = memory.retry.take() {
        memory.retry = continued(situation, retry, memory, decided);
    }
    if memory.retry.is_none() {
        memory.retry = next(situation, memory, decided);
    }
    let Some(retry) = &memory.retry else { return };
    decided.look_again(retry.end());
    let its = situation.claims.iter().copied().find(|claim| retry.is_of(claim));
    if decided.obstacle.is_none()
        && let Some(claim) = its.filter(|claim| situation.is_repair_stuck(claim))
    {
        decided.list(situation, claim, ReplacedFor::Unhealthy);
    }
}

/// The same retry, unless it is over.
fn continued<'p>(
    situation: &Situation<'p>,
    retry: Retry,
    memory: &mut Memory,
    decided: &mut Replacements<'p>,
) -> Option<Retry> {
    let claim = situation.claims.iter().copied().find(|claim| retry.is_of(claim));
    let claim = claim.filter(|claim| claim.deleted.is_none())?;
    let node = claim.node.filter(|node| !node.marks.forbid_repair())?;
    let has_failed = claim.is_to_be_repaired() && situation.disruption_failed(claim);
    let is_over = retry.end() <= situation.clock;
    if has_failed && (decided.obstacle.is_some() || is_over) {
        memory.held_from_repair.insert(retry.uid, situation.clock);
        return None;
    }
    if is_over && decided.obstacle.is_some() && !node.is_ready && !claim.is_to_be_repaired() {
        // Karpenter may wait longer than a retry lasts between two tries. The node is held again, as if it had been tried.
        memory.held_from_repair.insert(retry.uid, situation.clock);
        decided.waiting.push(claim);
        return None;
    }
    if !is_over {
        return Some(retry);
    }
    // Repair is pending and has not failed: Karpenter is working on it.
    if !claim.is_to_be_repaired() {
        decided.end(&node.name, ReplacedFor::Unhealthy, ReplacementOutcome::Dropped);
    }
    // Its mark may still be there, if it could not be removed: it does not wait because of that.
    memory.held_from_repair.remove(&retry.uid);
    decided.waiting.retain(|waiting| !retry.is_of(waiting));
    None
}

/// The next retry: nodes that Karpenter wants to repair now come first, then those that were held first.
fn next<'p>(situation: &Situation<'p>, memory: &Memory, decided: &mut Replacements<'p>) -> Option<Retry> {
    let is_held = |claim: &ClaimState<'_>| claim.marks().held_for().repair;
    let first = decided.waiting.iter().copied().min_by_key(|claim| {
        let since = memory.held_from_repair.get(&claim.uid).copied();
        (is_held(claim), since, claim.age_key())
    })?;
    let held_since = memory
        .held_from_repair
        .get(&first.uid)
        .copied()
        .unwrap_or(situation.clock);
    let waits = match decided.obstacle {
        None => Duration::ZERO,
        Some(Obstacle::HasRoom) => WITH_ROOM,
        Some(Obstacle::NotHard) => BECAUSE_OF_ANOTHER,
        Some(_) => WITHOUT_ROOM,
    };
    let begins = held_since.plus(waits);
    if begins > situation.clock {
        decided.look_again(begins);
        if let Some(until) = decided
            .obstacle
            .and_then(|obstacle| obstacle.look_again_at(situation.clock))
        {
            decided.look_again(until);
        }
        return None;
    }
    Some(Retry {
        uid: Arc::clone(&first.uid),
        since: situation.clock,
    })
}
