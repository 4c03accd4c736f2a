//! Which nodes of a Hard pool to hold, so that Karpenter does not disrupt them, and which to unhold.

mod fit;
mod remaining;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::situation::{Memory, Situation};
use super::state::{ClaimState, Node};
use crate::budget::Reason;
use crate::nodelimit::ledger::Moment;
use remaining::{DisruptableNodes, RemainingCapacity};

/// How long a node stays held after a denial if nothing shows when there is room for its replacement: another pool's
/// limit did not allow it, or this one is not Hard.
const HELD_AFTER_DENIAL: Duration = Duration::from_mins(5);

/// The least time for which a node that Karpenter would consolidate stays open: Karpenter remembers for five
/// minutes that there was nothing to consolidate, and no write to a node or a pool makes it look earlier. Then it
/// takes up to half a minute to be sure.
// karpenter: pkg/controllers/state/cluster.go Cluster.ConsolidationState
const UNTIL_CONSOLIDATION_LOOKS: Duration = Duration::from_mins(6);

/// Which nodes to hold and to unhold, by the UIDs of their claims. All others stay as they are.
#[derive(Debug, Default)]
pub struct Holds<'p> {
    pub hold: BTreeSet<&'p str>,
    pub unhold: BTreeSet<&'p str>,
    /// Those that are held because the pool is frozen.
    pub freeze: BTreeSet<&'p str>,
    /// True if a node that Karpenter would disrupt because it has drifted stays held.
    pub keeps_drifted: bool,
    /// True if a node that Karpenter would consolidate stays held.
    pub keeps_underutilized: bool,
    /// When to decide again, if nothing changes before.
    pub again_at: Option<Moment>,
}

/// Decides which nodes to hold and to unhold, and records whose turn it was.
pub fn decide<'p>(situation: &Situation<'p>, memory: &mut Memory) -> Holds<'p> {
    let mut holds = Holds::default();
    if situation.is_acted_upon() {
        hold_denied(situation, memory, &mut holds);
    }
    if situation.is_frozen() {
        memory.forget_room();
        let marked = situation.claims.iter().filter(|claim| claim.needs_freeze());
        holds.freeze.extend(marked.map(|claim| &*claim.uid));
        holds.look_again(situation.freeze_ends_at());
    } else if situation.is_governed() {
        govern(situation, memory, &mut holds);
    } else {
        memory.forget_room();
        // One whose disruption has just failed would be held again as soon as it is open.
        let is_free = |claim: &&&ClaimState<'_>| {
            let failed = claim.is_being_disrupted() && situation.disruption_failed(claim);
            claim.marks().are_for_limit()
                && !(situation.is_acted_upon() && failed && !claim.is_to_be_repaired())
        };
        let free = situation.claims.iter().filter(is_free);
        holds.unhold.extend(free.map(|claim| &*claim.uid));
    }
    keep_denied(situation, memory, &mut holds);
    holds
}

/// Holds the nodes that Karpenter was disrupting when the gate denied: there is no room for their replacements. Nodes
/// under repair are excluded: these marks do not stop a repair. Where the pool's own limit is no obstacle to a
/// replacement, only a second try shows that the first one failed.
fn hold_denied<'p>(situation: &Situation<'p>, memory: &mut Memory, holds: &mut Holds<'p>) {
    let is_denied = |claim: &&&ClaimState<'_>| {
        let is_shown = situation.is_governed() || situation.disruption_failed(claim);
        situation.is_denied(claim) && is_shown && !claim.is_to_be_repaired()
    };
    for claim in situation.claims.iter().filter(is_denied) {
        if situation.is_denied_elsewhere(claim) || !situation.is_governed() {
            memory.denied.insert(Arc::clone(&claim.uid), situation.clock);
        }
        holds.hold.insert(&claim.uid);
    }
}

/// Keeps the nodes held that were denied a replacement a short time ago.
fn keep_denied(situation: &Situation<'_>, memory: &mut Memory, holds: &mut Holds<'_>) {
    let lasts = |seen: Moment| seen.plus(HELD_AFTER_DENIAL) > situation.clock;
    memory.denied.retain(|_, seen| lasts(*seen));
    for (uid, seen) in &memory.denied {
        if holds.unhold.remove(&**uid) {
            holds.look_again(Some(seen.plus(HELD_AFTER_DENIAL)));
        }
    }
}

fn govern<'p>(situation: &Situation<'p>, memory: &mut Memory, holds: &mut Holds<'p>) {
    let candidates = situation.claims.iter().copied();
    let candidates: Vec<_> = candidates.filter(|claim| claim.is_candidate()).collect();
    let open = DisruptableNodes::compute(situation, memory);
    let needy = candidates
        .iter()
        .filter(|claim| may_need_replacement(claim, open));
    let holds_any = needy
        .clone()
        .any(|claim| claim.marks().are_for_limit() && !claim.marks().keep_held());
    let room = RemainingCapacity::compute(situation, open, needy.count(), holds_any, memory);
    let free = open_nodes(situation, room, &candidates, memory, holds);
    for claim in candidates {
        let is_free = match room {
            RemainingCapacity::Enough => true,
            RemainingCapacity::Lingering(_) if !claim.marks().are_for_limit() => true,
            _ => free.contains(&*claim.uid),
        };
        holds.mark(claim, is_free && !claim.marks().keep_held(), situation);
    }
    holds.look_again(room.again_at(situation, memory));
    holds.look_again(next_window(situation));
}

/// The nodes, by the UID of their claims, that may be open if there is not enough room.
fn open_nodes<'p>(
    situation: &Situation<'p>,
    room: RemainingCapacity,
    candidates: &[&'p ClaimState<'p>],
    memory: &mut Memory,
    holds: &mut Holds<'p>,
) -> BTreeSet<&'p str> {
    let (RemainingCapacity::Short(open) | RemainingCapacity::Lingering(open)) = room else {
        return BTreeSet::new();
    };
    let mut free: BTreeSet<&str> = BTreeSet::new();
    let is_free = |claim: &&&ClaimState<'_>| !may_need_replacement(claim, open);
    free.extend(candidates.iter().filter(is_free).map(|claim| &*claim.uid));
    if !open.is_quiet {
        return free;
    }
    let needy: Vec<_> = candidates
        .iter()
        .copied()
        .filter(|claim| may_need_replacement(claim, open) && !claim.marks().keep_held())
        .collect();
    let turn = take_turns(situation, open.remaining, &needy, memory);
    if open.remaining > 0 && turn.len() == open.remaining {
        holds.look_again(next_turn_at(situation, &turn, memory));
    }
    free.extend(turn.iter().map(|claim| &*claim.uid));
    let rest: Vec<_> = needy
        .into_iter()
        .filter(|claim| !free.contains(&*claim.uid))
        .collect();
    let hosts: Vec<_> = candidates
        .iter()
        .copied()
        .filter(|claim| !free.contains(&*claim.uid) || claim.marks().protect_for_user())
        .filter(|claim| claim.node.is_some_and(Node::takes_pods))
        .collect();
    free.extend(fit::fitting(&rest, &hosts));
    free
}

/// When a budget's window may open or close.
fn next_window(situation: &Situation<'_>) -> Option<Moment> {
    let mut budgets = situation.pool.budgets.as_ref().ok()?.iter();
    let has_windows = budgets.any(|budget| budget.windows().is_some());
    has_windows.then(|| situation.next_minute()).flatten()
}

/// True if Karpenter could disrupt the node now, as far as the node and its pods show.
// karpenter: pkg/controllers/disruption/types.go NewCandidate
// karpenter: pkg/controllers/disruption/drift.go Drift.ShouldDisrupt
// karpenter: pkg/controllers/disruption/consolidation.go consolidation.ShouldDisrupt
pub(super) fn could_be_disrupted(
    claim: &ClaimState<'_>,
    consolidates_underutilized: bool,
    now: Timestamp,
) -> bool {
    let conditions = claim.conditions;
    if conditions.drifted && claim.has_grace_period {
        return true;
    }
    let consolidates = conditions.consolidatable && consolidates_underutilized;
    (conditions.drifted || consolidates) && !claim.pods.iter().any(|pod| pod.forbids_disruption(now))
}

/// True if the disruption of a node might need a replacement. A node that a user protects is not disrupted.
fn may_need_replacement(claim: &ClaimState<'_>, open: DisruptableNodes) -> bool {
    let may_need = !claim.is_empty() || claim.conditions.drifted && !open.is_quiet;
    may_need && !claim.marks().are_users()
}

/// The claims whose turn it is, as many as there is room for: of those that Karpenter could disrupt, the drifted first,
/// then those whose turn is not over, then those that have waited longest. Records whose turn begins.
fn take_turns<'p>(
    situation: &Situation<'p>,
    remaining: usize,
    needy: &[&'p ClaimState<'p>],
    memory: &mut Memory,
) -> Vec<&'p ClaimState<'p>> {
    let mut able: Vec<_> = needy
        .iter()
        .copied()
        .filter(|claim| could_be_disrupted(claim, situation.pool.consolidates_underutilized, situation.wall))
        .collect();
    able.sort_by_cached_key(|claim| {
        let begun = memory.turns.get(&claim.uid).copied();
        let is_open = !claim.marks().are_for_limit();
        let order = (
            Reverse(claim.conditions.drifted),
            Reverse(begun.is_some_and(|begun| turn_ends_at(claim, begun, situation) > situation.clock)),
            begun,
        );
        (order, Reverse(is_open), claim.age_key())
    });
    able.truncate(remaining);
    let uids = situation.claims.iter().map(|claim| &claim.uid);
    memory.turns = uids
        .filter_map(|uid| Some((Arc::clone(uid), *memory.turns.get(uid)?)))
        .collect();
    for claim in &able {
        let uid = Arc::clone(&claim.uid);
        let begun = memory.turns.entry(uid).or_insert(situation.clock);
        if turn_ends_at(claim, *begun, situation) <= situation.clock {
            *begun = situation.clock;
        }
    }
    able
}

/// When the first of these turns is over.
fn next_turn_at(situation: &Situation<'_>, turn: &[&ClaimState<'_>], memory: &Memory) -> Option<Moment> {
    turn.iter()
        .filter_map(|claim| Some(turn_ends_at(claim, *memory.turns.get(&claim.uid)?, situation)))
        .min()
}

/// When a claim's turn ends that began at `begun`.
fn turn_ends_at(claim: &ClaimState<'_>, begun: Moment, situation: &Situation<'_>) -> Moment {
    let rotation = situation.settings.rotation.max(Duration::from_secs(1));
    let length = if claim.conditions.drifted {
        rotation
    } else {
        rotation.max(UNTIL_CONSOLIDATION_LOOKS)
    };
    begun.plus(length)
}

impl<'p> Holds<'p> {
    /// Records what must change on a node.
    fn mark(&mut self, claim: &'p ClaimState<'p>, is_free: bool, situation: &Situation<'p>) {
        let marks = claim.marks();
        if marks.are_users() {
            return;
        }
        if is_free {
            if marks.are_for_limit() {
                self.unhold.insert(&claim.uid);
            }
            return;
        }
        self.hold.insert(&claim.uid);
        let conditions = claim.conditions;
        self.keeps_drifted |= conditions.drifted;
        self.keeps_underutilized |= conditions.consolidatable && situation.pool.consolidates_underutilized;
    }

    fn look_again(&mut self, at: Option<Moment>) {
        self.again_at = [self.again_at, at].into_iter().flatten().min();
    }

    /// True if a node that Karpenter would disrupt for this reason stays held.
    pub const fn keeps(&self, reason: Reason) -> bool {
        match reason {
            Reason::Drifted => self.keeps_drifted,
            Reason::Underutilized => self.keeps_underutilized,
            Reason::Empty | Reason::Unhealthy => false,
        }
    }
}
