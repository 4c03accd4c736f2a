//! Whose turn it is to have one of the few open places.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::claim::ClaimState;
use super::memory::Memory;
use super::situation::Situation;

/// The claims that have the open places in this turn: of those that Karpenter could disrupt now the drifted first,
/// then those that have waited longest. Takes down who had a turn.
pub(super) fn holders<'p>(
    now: &Situation<'p>,
    places: usize,
    needy: &[&'p ClaimState<'p>],
    memory: &mut Memory,
) -> Vec<&'p ClaimState<'p>> {
    let turn = turn(now);
    let mut able: Vec<_> = needy
        .iter()
        .copied()
        .filter(|claim| claim.could_go(now))
        .collect();
    able.sort_by_cached_key(|claim| {
        let last = memory.turns.get(&claim.claim.uid).copied();
        let is_open = claim.node.is_some_and(|node| !node.marks.are_ours());
        let order = (
            Reverse(claim.claim.conditions.drifted),
            Reverse(last == Some(turn)),
            last,
        );
        (order, Reverse(is_open), claim.age_key())
    });
    able.truncate(places);
    let here: BTreeMap<_, _> = now
        .claims
        .iter()
        .filter_map(|claim| Some((&claim.claim.uid, memory.turns.get(&claim.claim.uid)?)))
        .map(|(uid, turn)| (Arc::clone(uid), *turn))
        .collect();
    memory.turns = here;
    for claim in &able {
        memory.turns.insert(Arc::clone(&claim.claim.uid), turn);
    }
    able
}

/// When the next turn begins.
pub(super) fn next_at(now: &Situation<'_>) -> Option<Timestamp> {
    let next = turn(now).checked_add(1)?.checked_mul(length(now))?;
    Timestamp::from_second(next).ok()
}

fn turn(now: &Situation<'_>) -> i64 {
    now.now.as_second().div_euclid(length(now))
}

/// In seconds.
fn length(now: &Situation<'_>) -> i64 {
    now.settings.rotation.as_secs().max(1)
}

impl ClaimState<'_> {
    /// Whether Karpenter could disrupt the node now, as far as the node and its pods tell.
    pub(super) fn could_go(&self, now: &Situation<'_>) -> bool {
        let conditions = self.claim.conditions;
        if conditions.drifted && self.claim.has_grace_period {
            return true;
        }
        let consolidates = conditions.consolidatable && now.pool.consolidates_underutilized;
        (conditions.drifted || consolidates) && !self.pods.iter().any(|pod| pod.forbids_disruption(now.now))
    }
}
