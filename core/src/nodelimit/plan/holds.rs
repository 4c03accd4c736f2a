//! Which nodes of a Hard pool to close to Karpenter's disruption, and which to open.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::claim::ClaimState;
use super::fit;
use super::memory::Memory;
use super::node::Node;
use super::remaining::{DisruptableNodes, RemainingCapacity};
use super::situation::Situation;
use super::turns;
use crate::budget::Reason;
use crate::nodelimit::ledger::Moment;

/// How often the windows of budgets are checked. They open and close at full minutes.
const MINUTE: Duration = Duration::from_mins(1);

/// How long a node stays closed after a denial if nothing shows when there is room for its replacement: another pool's
/// limit did not allow it, or this one is not Hard.
const DENIAL_LASTS: Duration = Duration::from_mins(5);

/// Which nodes to close and to open, by the UIDs of their claims. All others stay as they are.
#[derive(Debug, Default)]
pub struct Holds<'p> {
    pub hold: BTreeSet<&'p str>,
    pub unhold: BTreeSet<&'p str>,
    /// Whether a node that Karpenter would disrupt because it has drifted stays closed.
    pub keeps_drifted: bool,
    /// Whether a node that Karpenter would consolidate stays closed.
    pub keeps_underutilized: bool,
    /// When to decide again, if nothing changes before.
    pub again_at: Option<Moment>,
}

/// Decides which nodes to close and to open, and records whose turn it was.
pub fn decide<'p>(situation: &Situation<'p>, memory: &mut Memory) -> Holds<'p> {
    let mut holds = Holds::default();
    if situation.is_acted_upon() {
        hold_denied(situation, memory, &mut holds);
    }
    if situation.is_governed() {
        govern(situation, memory, &mut holds);
    } else {
        memory.forget_room();
        let ours = situation
            .claims
            .iter()
            .filter(|claim| claim.node.is_some_and(|node| node.marks.are_ours()));
        holds.unhold.extend(ours.map(|claim| &*claim.claim.uid));
    }
    keep_denied(situation, memory, &mut holds);
    holds
}

/// Closes the nodes that Karpenter was disrupting when the gate denied: there is no place for their replacements. Those
/// that it wants to repair are none of these: nothing of this would keep it from that. Where the pool's own limit is no
/// obstacle to a replacement, only a second try shows that the first one failed.
fn hold_denied<'p>(situation: &Situation<'p>, memory: &mut Memory, holds: &mut Holds<'p>) {
    let is_denied = |claim: &&&ClaimState<'_>| {
        let is_shown = situation.is_governed() || situation.has_tried_in_vain(claim);
        situation.is_denied(claim) && is_shown && !claim.is_to_be_repaired()
    };
    for claim in situation.claims.iter().filter(is_denied) {
        if situation.is_denied_elsewhere(claim) || !situation.is_governed() {
            memory
                .denied
                .insert(Arc::clone(&claim.claim.uid), situation.clock);
        }
        holds.hold.insert(&claim.claim.uid);
    }
}

/// Opens none of the nodes yet that were denied a replacement a short time ago.
fn keep_denied(situation: &Situation<'_>, memory: &mut Memory, holds: &mut Holds<'_>) {
    let lasts = |seen: Moment| seen.plus(DENIAL_LASTS) > situation.clock;
    memory.denied.retain(|_, seen| lasts(*seen));
    for (uid, seen) in &memory.denied {
        if holds.unhold.remove(&**uid) {
            holds.look_again(Some(seen.plus(DENIAL_LASTS)));
        }
    }
}

fn govern<'p>(situation: &Situation<'p>, memory: &mut Memory, holds: &mut Holds<'p>) {
    let candidates: Vec<Candidate<'p>> = situation
        .claims
        .iter()
        .filter_map(|claim| Candidate::of(claim))
        .collect();
    let open = DisruptableNodes::compute(situation, memory);
    let needy = candidates
        .iter()
        .filter(|candidate| candidate.may_need_replacement(open));
    let holds_any = needy
        .clone()
        .any(|candidate| candidate.node.marks.are_ours() && !candidate.node.marks.keep_held());
    let room = RemainingCapacity::compute(situation, open, needy.count(), holds_any, memory);
    let free = open_nodes(situation, room, &candidates, memory, holds);
    for candidate in candidates {
        let is_free = match room {
            RemainingCapacity::Enough => true,
            RemainingCapacity::Lingering(_) if !candidate.node.marks.are_ours() => true,
            _ => free.contains(&*candidate.claim.claim.uid),
        };
        holds.mark(
            &candidate,
            is_free && !candidate.node.marks.keep_held(),
            situation,
        );
    }
    holds.look_again(room.again_at(situation, memory));
    holds.look_again(next_window(situation));
}

/// The nodes, by the UID of their claims, that may be open if there are not enough places.
fn open_nodes<'p>(
    situation: &Situation<'p>,
    room: RemainingCapacity,
    candidates: &[Candidate<'p>],
    memory: &mut Memory,
    holds: &mut Holds<'p>,
) -> BTreeSet<&'p str> {
    let (RemainingCapacity::Short(open) | RemainingCapacity::Lingering(open)) = room else {
        return BTreeSet::new();
    };
    let mut free: BTreeSet<&str> = BTreeSet::new();
    let is_free = |candidate: &&Candidate<'_>| !candidate.may_need_replacement(open);
    free.extend(candidates.iter().filter(is_free).map(Candidate::uid));
    if !open.is_quiet {
        return free;
    }
    let needy: Vec<_> = candidates
        .iter()
        .filter(|candidate| candidate.may_need_replacement(open) && !candidate.node.marks.keep_held())
        .map(|candidate| candidate.claim)
        .collect();
    let turn = turns::holders(situation, open.places, &needy, memory);
    if open.places > 0 && turn.len() == open.places {
        holds.look_again(turns::next_at(situation, &turn, memory));
    }
    free.extend(turn.iter().map(|claim| &*claim.claim.uid));
    let rest: Vec<_> = needy
        .into_iter()
        .filter(|claim| !free.contains(&*claim.claim.uid))
        .collect();
    let hosts: Vec<_> = candidates
        .iter()
        .filter(|candidate| !free.contains(candidate.uid()) || candidate.node.marks.are_a_wish())
        .filter(|candidate| candidate.node.takes_pods())
        .map(|candidate| candidate.claim)
        .collect();
    free.extend(fit::fitting(&rest, &hosts));
    free
}

/// When a budget's window may open or close.
fn next_window(situation: &Situation<'_>) -> Option<Moment> {
    let mut budgets = situation.pool.budgets.as_ref()?.iter();
    let has_windows = budgets.any(|budget| budget.windows().is_some());
    let second = u64::try_from(situation.wall.as_second().rem_euclid(60)).ok()?;
    let passed = Duration::new(second, u32::try_from(situation.wall.subsec_nanosecond()).ok()?);
    has_windows.then(|| situation.clock.plus(MINUTE.saturating_sub(passed)))
}

/// A node that Karpenter could disrupt sooner or later.
struct Candidate<'p> {
    claim: &'p ClaimState<'p>,
    node: &'p Node,
    is_empty: bool,
}

impl<'p> Candidate<'p> {
    fn of(claim: &'p ClaimState<'p>) -> Option<Self> {
        let node = claim.node?;
        let conditions = claim.claim.conditions;
        let may_be_disrupted = conditions.initialized && !conditions.rebooting && !claim.is_going();
        may_be_disrupted.then(|| Self {
            claim,
            node,
            is_empty: claim.is_empty(),
        })
    }

    fn uid(&self) -> &'p str {
        &self.claim.claim.uid
    }

    /// Whether its disruption might need a replacement. A node that a user has closed is not disrupted.
    fn may_need_replacement(&self, open: DisruptableNodes) -> bool {
        let may_need = !self.is_empty || self.claim.claim.conditions.drifted && !open.is_quiet;
        may_need && !self.node.marks.are_users()
    }
}

impl<'p> Holds<'p> {
    /// Records what must change on a node.
    fn mark(&mut self, candidate: &Candidate<'p>, is_free: bool, situation: &Situation<'p>) {
        let marks = candidate.node.marks;
        if marks.are_users() {
            return;
        }
        if is_free {
            if marks.are_ours() {
                self.unhold.insert(candidate.uid());
            }
            return;
        }
        self.hold.insert(candidate.uid());
        let conditions = candidate.claim.claim.conditions;
        self.keeps_drifted |= conditions.drifted;
        self.keeps_underutilized |= conditions.consolidatable && situation.pool.consolidates_underutilized;
    }

    fn look_again(&mut self, at: Option<Moment>) {
        self.again_at = [self.again_at, at].into_iter().flatten().min();
    }

    /// Whether a node that Karpenter would disrupt for this reason stays closed.
    pub const fn keeps(&self, reason: Reason) -> bool {
        match reason {
            Reason::Drifted => self.keeps_drifted,
            Reason::Underutilized => self.keeps_underutilized,
            Reason::Empty | Reason::Unhealthy => false,
        }
    }
}
