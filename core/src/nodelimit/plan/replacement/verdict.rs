//! Whether Karpenter wants a node to be repaired now, and cannot.

use crate::nodelimit::plan::claim::ClaimState;
use crate::nodelimit::plan::replacement_memory::VERDICT_LASTS;
use crate::nodelimit::plan::situation::Situation;

impl Situation<'_> {
    /// Whether poolgate has barred the claim's node from repair, or must: Karpenter tried in vain to repair it. One denial
    /// does not show that: it may have been for a pod, and the repair may be under way. A node that a user has barred is
    /// the user's.
    pub fn waits_for_repair(&self, claim: &ClaimState<'_>) -> bool {
        let Some(node) = claim.node.filter(|_| claim.claim.deleted.is_none()) else {
            return false;
        };
        if node.marks.forbid_repair() || claim.claim.conditions.rebooting {
            return false;
        }
        node.marks.held_for().repair || claim.is_to_be_repaired() && self.has_tried_in_vain(claim)
    }

    /// Whether Karpenter's verdict on the claim's node is fresh: this replica saw it try again, the last time at most a
    /// minute ago, the gate denied the pool a claim since it began, and nothing suggests that a replacement was created
    /// after all. What Karpenter knows of the node has not changed since: [`Tries`] begin anew then.
    ///
    /// [`Tries`]: crate::nodelimit::plan::Tries
    pub fn has_fresh_verdict(&self, claim: &ClaimState<'_>) -> bool {
        let Some(tries) = claim.tries.filter(|tries| tries.have_failed()) else {
            return false;
        };
        claim.is_to_be_repaired()
            && claim.claim.conditions.initialized
            && self.clock.since(tries.last) <= VERDICT_LASTS
            && self.state.denied_at >= Some(tries.first)
            && !self.may_have_replacement(claim)
    }
}
