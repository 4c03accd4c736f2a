//! Drifted nodes of a full pool that asks for it (`Replace`): one at a time in the cluster is terminated first, and
//! Karpenter drains it and replaces it.

use std::time::Duration;

use super::Replacements;
use crate::budget::Reason;
use crate::nodelimit::ledger::ReplacedFor;
use crate::nodelimit::plan::situation::{Memory, Situation};
use crate::nodelimit::plan::state::{ClaimState, Pod};

/// How long no pod that the pool could serve may have been pending: before that, some pods of the last node may not run
/// again yet.
const CALM: Duration = Duration::from_mins(2);

/// How often to look whether another pool still replaces a node.
const ELSEWHERE: Duration = Duration::from_mins(1);

/// Chooses the next node, if there is one: the oldest claim first.
pub fn choose<'p>(situation: &Situation<'p>, memory: &Memory, decided: &mut Replacements<'p>) {
    look_again_in_time(situation, decided);
    if !asks(situation) || !decided.waiting.is_empty() || decided.obstacle.is_some() || !is_idle(situation) {
        return;
    }
    let calm_from = memory.calm_since.map(|since| since.plus(CALM));
    if calm_from.is_none_or(|from| from > situation.clock) {
        if let Some(from) = calm_from {
            decided.look_again(from);
        }
        return;
    }
    let may_go = |claim: &&ClaimState<'_>| may_be_drained(claim) && !memory.is_refused(claim);
    if let Some(claim) = situation.claims.iter().copied().find(may_go) {
        decided.list(situation, claim, ReplacedFor::Drifted);
    }
    if let Some(at) = memory.refusal_ends() {
        decided.look_again(at);
    }
}

/// Asks for another decision where nothing that happens to this pool shows that a node may be replaced now.
fn look_again_in_time(situation: &Situation<'_>, decided: &mut Replacements<'_>) {
    if !situation.pool.makes_room() {
        return;
    }
    let over = decided
        .obstacle
        .and_then(|obstacle| obstacle.look_again_at(situation.clock));
    let elsewhere = situation
        .state
        .replaces_elsewhere
        .then(|| situation.clock.plus(ELSEWHERE));
    for at in over.into_iter().chain(elsewhere) {
        decided.look_again(at);
    }
}

/// True if a claim that was chosen may still be deleted. The limit that Karpenter sees must be lower by then, so that it
/// asks for no node before there is room.
pub fn may_go(situation: &Situation<'_>, claim: &ClaimState<'_>, decided: &Replacements<'_>) -> bool {
    asks(situation)
        && decided.waiting.is_empty()
        && decided.obstacle.is_none()
        && is_idle(situation)
        && may_be_drained(claim)
}

/// True if the node has drifted and may be drained, as far as it and its pods show. poolgate's own marks are not a user's.
fn may_be_drained(claim: &ClaimState<'_>) -> bool {
    let stays = |pod: &&Pod| pod.is_lost_with_its_node() || pod.do_not_disrupt.is_some();
    claim.node.is_some()
        && claim.conditions.drifted
        && claim.has_grace_period
        && !claim.marks().ask_to_stay()
        && !claim.pods.iter().any(stays)
}

/// True if the pool asks for a replacement: it wants one, and no other pool's node is being replaced.
fn asks(situation: &Situation<'_>) -> bool {
    situation.pool.makes_room() && !situation.state.replaces_elsewhere
}

/// True if nothing else happens to the pool's nodes.
fn is_idle(situation: &Situation<'_>) -> bool {
    let is_busy = |claim: &ClaimState<'_>| {
        claim.is_going() || !claim.conditions.initialized || claim.conditions.rebooting
    };
    let budget = situation
        .counts
        .budget(situation.pool, Reason::Drifted, situation.wall);
    budget.is_none_or(|budget| budget > situation.counts.consumed(Reason::Drifted))
        && !situation.claims.iter().any(|claim| is_busy(claim))
}
