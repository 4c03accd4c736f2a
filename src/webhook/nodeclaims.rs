//! NodeClaims: the gate's decision as an answer.

use crate::admission::Answer;
use crate::admission::gate::{NodeClaimReview, sentence};
use crate::gate::GateDecision;

/// A decision in one word.
pub fn word(decision: &GateDecision) -> &'static str {
    match decision {
        GateDecision::Allowed => "admitted",
        GateDecision::Denied(_) => "denied",
        GateDecision::WouldDeny(_) => "admitted-above-the-limit",
        GateDecision::AllowedUndecided(_) => "admitted-undecided",
        GateDecision::DeniedUndecided(_) => "denied-undecided",
    }
}

/// The answer to the creator of the NodeClaim.
pub fn answer(review: &NodeClaimReview, decision: GateDecision) -> Answer<'static> {
    let (pool, claim) = (&*review.pool, &*review.name);
    match decision {
        GateDecision::Allowed => review.admit(),
        GateDecision::Denied(denied) => {
            tracing::info!(pool, claim, reason = sentence(pool, &denied), "at the node limit");
            review.deny(&denied)
        }
        GateDecision::WouldDeny(denied) => {
            tracing::info!(
                pool,
                claim,
                reason = sentence(pool, &denied),
                "at the node limit; admitted by --gate-observe"
            );
            review.admit_beyond()
        }
        GateDecision::AllowedUndecided(error) => {
            tracing::debug!(pool, claim, %error, "admitted without a decision");
            review.admit_beyond()
        }
        GateDecision::DeniedUndecided(error) => review.deny_undecided(&error.to_string()),
    }
}
