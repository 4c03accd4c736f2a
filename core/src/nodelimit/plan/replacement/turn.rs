//! Whose turn it is: one node at a time is not barred, to see whether Karpenter still wants to repair it.

use std::sync::Arc;
use std::time::Duration;

use super::{Obstacle, Replacements};
use crate::nodelimit::ledger::{ReplacedFor, Replacement, Uid};
use crate::nodelimit::plan::claim::ClaimState;
use crate::nodelimit::plan::replacement_memory::{ReplacementMemory, Turn};
use crate::nodelimit::plan::replacement_outcome::{ReplacementOutcome, ReplacementState};
use crate::nodelimit::plan::situation::Situation;

/// How long a node is barred at least if the pool has room for its replacement, and Karpenter was denied it all the
/// same: another node took the place.
const WITH_ROOM: Duration = Duration::from_mins(1);

/// How long a node is barred at least if another pool is full, and nothing here shows when it no longer is.
const BECAUSE_OF_ANOTHER: Duration = Duration::from_mins(5);

/// How long a node is barred at least if nothing can be done about it: then its turn is only to see whether it is still broken.
const WITHOUT_ROOM: Duration = Duration::from_mins(10);

/// Continues or ends a turn, and begins the next one. A node with a fresh verdict is listed.
pub fn take<'p>(situation: &Situation<'p>, memory: &mut ReplacementMemory, decided: &mut Replacements<'p>) {
    if let Some(turn) = memory.turn.take() {
        memory.turn = continued(situation, turn, memory, decided);
    }
    if memory.turn.is_none() {
        memory.turn = next(situation, memory, decided);
    }
    let Some(turn) = &memory.turn else { return };
    decided.look_again(turn.end());
    let its = situation.claims.iter().copied().find(|claim| turn.is_of(claim));
    if decided.obstacle.is_none()
        && let Some(claim) = its.filter(|claim| situation.has_fresh_verdict(claim))
    {
        decided.list(situation, claim, ReplacedFor::Unhealthy);
    }
}

/// The same turn, unless it is over.
fn continued<'p>(
    situation: &Situation<'p>,
    turn: Turn,
    memory: &mut ReplacementMemory,
    decided: &mut Replacements<'p>,
) -> Option<Turn> {
    let claim = situation.claims.iter().copied().find(|claim| turn.is_of(claim));
    let claim = claim.filter(|claim| claim.claim.deleted.is_none())?;
    let node = claim.node.filter(|node| !node.marks.forbid_repair())?;
    let was_in_vain = claim.is_to_be_repaired() && situation.has_tried_in_vain(claim);
    let is_over = turn.end() <= situation.clock;
    if was_in_vain && (decided.obstacle.is_some() || is_over) {
        memory.barred.insert(turn.uid, situation.clock);
        return None;
    }
    if is_over && decided.obstacle.is_some() && !node.is_ready && !claim.is_to_be_repaired() {
        // Karpenter may wait longer than a turn between two tries. It is barred again, as if it had been tried.
        memory.barred.insert(turn.uid, situation.clock);
        decided.waiting.push(claim);
        return None;
    }
    if !is_over {
        return Some(turn);
    }
    // If it is still to be repaired, and was not in vain, Karpenter is at it.
    if !claim.is_to_be_repaired() {
        decided.end(&node.name, ReplacedFor::Unhealthy, ReplacementOutcome::Dropped);
    }
    // Its mark may still be there, if it could not be removed: it does not wait because of that.
    memory.barred.remove(&turn.uid);
    decided.waiting.retain(|waiting| !turn.is_of(waiting));
    None
}

/// The next turn: nodes that Karpenter wants to repair now come first, then those that were barred first.
fn next<'p>(
    situation: &Situation<'p>,
    memory: &ReplacementMemory,
    decided: &mut Replacements<'p>,
) -> Option<Turn> {
    let is_barred = |claim: &ClaimState<'_>| claim.node.is_some_and(|node| node.marks.held_for().repair);
    let first = decided.waiting.iter().copied().min_by_key(|claim| {
        let since = memory.barred.get(&claim.claim.uid).copied();
        (is_barred(claim), since, claim.age_key())
    })?;
    let barred_since = memory
        .barred
        .get(&first.claim.uid)
        .copied()
        .unwrap_or(situation.clock);
    let waits = match decided.obstacle {
        None => Duration::ZERO,
        Some(Obstacle::HasRoom) => WITH_ROOM,
        Some(Obstacle::NotHard) => BECAUSE_OF_ANOTHER,
        Some(_) => WITHOUT_ROOM,
    };
    let begins = barred_since.plus(waits);
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
    Some(Turn {
        uid: Arc::clone(&first.claim.uid),
        since: situation.clock,
    })
}

impl<'p> Replacements<'p> {
    /// Lists a claim in the ledger: nothing else may be deleted to make room.
    pub fn list(&mut self, situation: &Situation<'p>, claim: &ClaimState<'p>, reason: ReplacedFor) {
        let (Ok(uid), Some(node)) = (Uid::new(&claim.claim.uid), claim.node) else {
            return;
        };
        let newest = situation
            .claims
            .iter()
            .map(|claim| claim.claim.created.as_second())
            .max();
        let replacement = Replacement {
            uid,
            claim: claim.claim.name.as_ref().into(),
            node: node.name.as_ref().into(),
            reason,
            newest: newest.unwrap_or_default(),
        };
        self.ledger = Some(ReplacementState {
            replacement: Some(replacement),
            stopped: None,
        });
    }
}
