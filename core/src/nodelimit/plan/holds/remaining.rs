//! Whether a Hard pool has enough room for the replacements of all nodes that Karpenter may disrupt at the same time.

use std::time::Duration;

use jiff::Timestamp;

use crate::budget::Reason;
use crate::nodelimit::ledger::Moment;
use crate::nodelimit::plan::situation::{Memory, Situation, asks_for_replacement};
use crate::nodelimit::plan::state::ClaimState;

/// How long there must be enough room before the last nodes are opened. Every replacement takes room for a
/// while: without this delay, all nodes would be held and unheld with each one.
const ROOMY: Duration = Duration::from_mins(2);

/// How long a pod may be pending although there is room and no node is being created, before we assume that
/// the pool cannot serve it.
const UNSERVED: Duration = Duration::from_mins(2);

/// How many nodes may be open whose disruption would need a replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemainingCapacity {
    /// All of them: there is enough room.
    Enough,
    /// There has been enough room only for a short time: no further node is held, but only so many are opened.
    Lingering(DisruptableNodes),
    /// Only so many: there is not enough room for all.
    Short(DisruptableNodes),
}

/// Which nodes may be open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DisruptableNodes {
    /// How many replacements there is room for that Karpenter has not requested yet.
    pub remaining: usize,
    /// Whether Karpenter's simulation of a disruption has no other pods to find nodes for. If it has, Karpenter
    /// requests more nodes, even for an empty node that has drifted: then only empty nodes that have not drifted
    /// may be open.
    pub is_quiet: bool,
}

impl DisruptableNodes {
    /// Computes this, and records since when a pod has not been served.
    pub fn compute(situation: &Situation<'_>, memory: &mut Memory) -> Self {
        let remaining = remaining(situation);
        Self {
            remaining,
            is_quiet: is_quiet(situation, remaining, memory),
        }
    }
}

impl RemainingCapacity {
    /// Computes this, and records since when there has been room. `needy` is the number of nodes whose disruption
    /// might need a replacement, `holds` whether one of them is held.
    pub fn compute(
        situation: &Situation<'_>,
        open: DisruptableNodes,
        needy: usize,
        holds: bool,
        memory: &mut Memory,
    ) -> Self {
        let least = |number: Option<u32>| number.map_or(needy, |number| needy.min(number as usize));
        let is_short = open.remaining
            < least(concurrent_disruptions(
                situation,
                situation.counts.consumed(Reason::Drifted),
            ));
        let is_roomy = open.remaining >= least(concurrent_disruptions(situation, 0));
        memory.roomy_since = is_roomy.then(|| memory.roomy_since.unwrap_or(situation.clock));
        let was_long = memory
            .roomy_since
            .is_some_and(|since| situation.clock.since(since) >= ROOMY);
        match (is_short, holds && !was_long) {
            (true, _) => Self::Short(open),
            (false, true) => Self::Lingering(open),
            (false, false) => Self::Enough,
        }
    }

    /// When to compute this again, if nothing changes before.
    pub fn again_at(self, situation: &Situation<'_>, memory: &Memory) -> Option<Moment> {
        let lingers = matches!(self, Self::Lingering(_));
        let roomy = memory
            .roomy_since
            .filter(|_| lingers)
            .map(|since| since.plus(ROOMY));
        let unserved = memory.unserved_since.map(|since| since.plus(UNSERVED));
        [roomy, unserved]
            .into_iter()
            .flatten()
            .filter(|at| *at > situation.clock)
            .min()
    }
}

/// How many replacements there is room for that Karpenter has not requested yet.
fn remaining(situation: &Situation<'_>) -> usize {
    let remaining = situation
        .counts
        .remaining_replacements(situation.pool)
        .unwrap_or(usize::MAX);
    remaining.saturating_sub(waiting(situation))
}

/// How many nodes are being disrupted whose replacement may still be created: none for a protected node. A claim
/// created since the disruption began counts as its replacement.
fn waiting(situation: &Situation<'_>) -> usize {
    // One denial does not show that a repair failed: such a node is not held yet, so room is kept for its replacement.
    let has_failed = |claim: &ClaimState<'_>| {
        if claim.is_to_be_repaired() {
            situation.disruption_failed(claim)
        } else {
            situation.is_denied(claim)
        }
    };
    let disrupted = situation.claims.iter();
    let mut since: Vec<_> = disrupted
        .filter(|claim| claim.is_openly_disrupted() && !has_failed(claim))
        .map(|claim| claim.disrupted_since())
        .collect();
    since.sort_unstable_by_key(|since| since.unwrap_or(Timestamp::MAX));
    let undeleted = situation.claims.iter().filter(|claim| claim.deleted.is_none());
    // The claims are sorted by age, so each is matched with the disruption that began first.
    let made = undeleted.map(|claim| claim.created);
    let unseen = std::iter::repeat_n(Timestamp::MAX, situation.counts.unseen);
    let mut waiting = since.iter().peekable();
    for created in made.chain(unseen) {
        waiting.next_if(|since| since.is_some_and(|since| since <= created));
    }
    waiting.len()
}

fn is_quiet(situation: &Situation<'_>, remaining: usize, memory: &mut Memory) -> bool {
    let is_unserved = situation.is_awaited && !situation.is_growing && remaining > 0;
    memory.unserved_since = is_unserved.then(|| memory.unserved_since.unwrap_or(situation.clock));
    let is_served = memory
        .unserved_since
        .is_none_or(|since| situation.clock.since(since) < UNSERVED);
    !(situation.is_draining || situation.is_awaited && is_served)
}

/// How many nodes Karpenter may begin to disrupt at the same time for reasons that need replacements, if `disrupting`
/// nodes use up budgets already; `None` if nothing limits.
fn concurrent_disruptions(situation: &Situation<'_>, disrupting: u32) -> Option<u32> {
    Reason::ALL
        .into_iter()
        .filter(|reason| asks_for_replacement(*reason))
        // No hold for the node limit keeps Karpenter from repairing a node.
        .filter(|reason| *reason != Reason::Unhealthy)
        .filter(|reason| *reason != Reason::Underutilized || situation.pool.consolidates_underutilized)
        .map(|reason| situation.counts.budget(situation.pool, reason, situation.wall))
        .reduce(|one, other| Some(one?.max(other?)))
        .flatten()
        .map(|budget| budget.saturating_sub(disrupting))
}
