//! The gate's decision, as an answer.

use poolgate_core::nodelimit::ledger::Denial;

use super::error::GateError;
use super::review::{NodeClaimReview, sentence};
use crate::serving::admission::Answer;

/// The decision.
#[derive(Debug)]
pub enum GateDecision {
    /// There is room, or no limit.
    Allowed,
    /// There is none.
    Denied(Denial),
    /// There is none, but the gate only observes.
    WouldDeny(Denial),
    /// It cannot be decided, and is admitted.
    AllowedUndecided(GateError),
    /// It cannot be decided, and is denied.
    DeniedUndecided(GateError),
}

impl GateDecision {
    /// In one word.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Allowed => "admitted",
            Self::Denied(_) => "denied",
            Self::WouldDeny(_) => "admitted-above-the-limit",
            Self::AllowedUndecided(_) => "admitted-undecided",
            Self::DeniedUndecided(_) => "denied-undecided",
        }
    }

    /// The answer to the creator of the NodeClaim.
    pub fn answer(self, review: &NodeClaimReview) -> Answer<'static> {
        let (pool, claim) = (&*review.pool, &*review.name);
        match self {
            Self::Allowed => review.admit(),
            Self::Denied(denied) => {
                tracing::info!(
                    pool,
                    claim,
                    reason = sentence(pool, &denied),
                    "denied a NodeClaim at the node limit"
                );
                review.deny(&denied)
            }
            Self::WouldDeny(denied) => {
                tracing::info!(
                    pool,
                    claim,
                    reason = sentence(pool, &denied),
                    "admitted a NodeClaim at the node limit because of --observe"
                );
                review.admit_beyond()
            }
            Self::AllowedUndecided(error) => {
                tracing::debug!(pool, claim, %error, "admitted a NodeClaim without a decision");
                review.admit_beyond()
            }
            Self::DeniedUndecided(error) => review.deny_undecided(&error.to_string()),
        }
    }
}
