//! The value of `spec.limits.nodes` for a pool that leaves it to poolgate.
//!
//! Karpenter drops a node from its own count as soon as it is being deleted or disrupted. A Hard limit counts it
//! until it is gone, so at the limit Karpenter would request a node that must be denied, again and again, and each
//! error slows down its one provisioner for every pool. If the limit is lower by the number of nodes that are
//! going, Karpenter does not request one. A node whose replacement was denied is not going: Karpenter counts it, and
//! tries again.

use super::claim::ClaimState;
use super::counts::number;
use super::situation::Situation;
use crate::api::NodeLimitMode;
use crate::nodelimit::ledger::ReplacedFor;

/// The value to write; `None` if it is there already, or the pool does not leave it to poolgate.
pub fn decide(situation: &Situation<'_>) -> Option<u32> {
    let limit = situation.pool.limit.filter(|_| situation.is_acted_upon())?;
    let is_going = |claim: &&&ClaimState<'_>| {
        // A denial may have been for a pod while the replacement was created.
        let was_denied = situation.is_denied(claim) || claim.is_held_while_disrupted();
        let stays = was_denied && !situation.may_have_replacement(claim);
        claim.is_going() && !stays || situation.is_listed_as_drifted(claim)
    };
    let going = match limit.mode {
        NodeLimitMode::Hard => number(situation.claims.iter().filter(is_going).count()),
        NodeLimitMode::Soft => 0,
    };
    let nodes = limit.nodes.saturating_sub(going);
    let is_ours = situation.pool.leaves_limit_to_poolgate;
    (is_ours && situation.pool.written_nodes != Some(nodes)).then_some(nodes)
}

impl Situation<'_> {
    /// Whether the claim is about to be deleted to make room for its replacement.
    fn is_listed_as_drifted(&self, claim: &ClaimState<'_>) -> bool {
        let listed = self.state.ledger.replacement.as_ref();
        listed.is_some_and(|listed| {
            listed.reason == ReplacedFor::Drifted && *claim.claim.uid == *listed.uid.as_str()
        })
    }
}

impl ClaimState<'_> {
    /// Whether poolgate has closed the node, after a denial, and Karpenter has yet to see it.
    fn is_held_while_disrupted(&self) -> bool {
        let held_for = self.node.map(|node| node.marks.held_for()).unwrap_or_default();
        let is_closed = if self.is_to_be_repaired() {
            held_for.repair
        } else {
            held_for.node_limit
        };
        is_closed && self.claim.deleted.is_none()
    }
}
