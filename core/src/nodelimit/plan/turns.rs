//! Which nodes have the few open places, in turns.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use super::claim::ClaimState;
use super::memory::Memory;
use super::situation::Situation;
use crate::nodelimit::ledger::Moment;

/// The least time for which a node that Karpenter would consolidate stays open: Karpenter remembers for five
/// minutes that there was nothing to consolidate, and no write to a node or a pool makes it look earlier. Then it
/// takes up to half a minute to be sure.
const UNTIL_CONSOLIDATION_LOOKS: Duration = Duration::from_mins(6);

/// The claims that have the open places now: of those that Karpenter could disrupt, the drifted first, then those
/// whose turn is not over, then those that have waited longest. Records whose turn begins.
pub fn holders<'p>(
    situation: &Situation<'p>,
    places: usize,
    needy: &[&'p ClaimState<'p>],
    memory: &mut Memory,
) -> Vec<&'p ClaimState<'p>> {
    let mut able: Vec<_> = needy
        .iter()
        .copied()
        .filter(|claim| claim.could_go(situation))
        .collect();
    able.sort_by_cached_key(|claim| {
        let begun = memory.turns.get(&claim.claim.uid).copied();
        let is_open = claim.node.is_some_and(|node| !node.marks.are_ours());
        let order = (
            Reverse(claim.claim.conditions.drifted),
            Reverse(begun.is_some_and(|begun| end(claim, begun, situation) > situation.clock)),
            begun,
        );
        (order, Reverse(is_open), claim.age_key())
    });
    able.truncate(places);
    let uids = situation.claims.iter().map(|claim| &claim.claim.uid);
    memory.turns = uids
        .filter_map(|uid| Some((Arc::clone(uid), *memory.turns.get(uid)?)))
        .collect();
    for claim in &able {
        let uid = Arc::clone(&claim.claim.uid);
        let begun = memory.turns.entry(uid).or_insert(situation.clock);
        if end(claim, *begun, situation) <= situation.clock {
            *begun = situation.clock;
        }
    }
    able
}

/// When the first of these turns is over.
pub fn next_at(situation: &Situation<'_>, turn: &[&ClaimState<'_>], memory: &Memory) -> Option<Moment> {
    turn.iter()
        .filter_map(|claim| Some(end(claim, *memory.turns.get(&claim.claim.uid)?, situation)))
        .min()
}

/// When a claim's turn ends that began at `begun`.
fn end(claim: &ClaimState<'_>, begun: Moment, situation: &Situation<'_>) -> Moment {
    let rotation = situation.settings.rotation.max(Duration::from_secs(1));
    let length = if claim.claim.conditions.drifted {
        rotation
    } else {
        rotation.max(UNTIL_CONSOLIDATION_LOOKS)
    };
    begun.plus(length)
}

impl ClaimState<'_> {
    /// Whether Karpenter could disrupt the node now, as far as the node and its pods show.
    pub(crate) fn could_go(&self, situation: &Situation<'_>) -> bool {
        let conditions = self.claim.conditions;
        if conditions.drifted && self.claim.has_grace_period {
            return true;
        }
        let consolidates = conditions.consolidatable && situation.pool.consolidates_underutilized;
        (conditions.drifted || consolidates)
            && !self.pods.iter().any(|pod| pod.forbids_disruption(situation.wall))
    }
}
