//! A NodeClaim asks for a place: from the review to the gate, and from its decision to the answer.

use std::time::Duration;

use crate::admission::Answer;
use crate::admission::gate::{NodeClaimReview, sentence};
use crate::gate::{AdmitRequest, Gate, GateDecision};

/// Asks the gate, which answers within `limit`.
pub(super) async fn ask<'b>(gate: &Gate, place: &NodeClaimReview<'b>, limit: Duration) -> Answer<'b> {
    let ask = AdmitRequest {
        pool: &place.pool,
        uid: &place.uid,
        name: &place.name,
        dry_run: place.is_dry_run(),
    };
    let (pool, claim) = (&*place.pool, &*place.name);
    match gate.ask(ask, limit).await {
        GateDecision::Allowed => place.admit(),
        GateDecision::Denied(refused) => {
            tracing::info!(pool, claim, reason = sentence(pool, &refused), "no place");
            place.refuse(&refused)
        }
        GateDecision::WouldDeny(refused) => {
            tracing::info!(
                pool,
                claim,
                reason = sentence(pool, &refused),
                "no place; admitted by --gate-observe"
            );
            place.admit_beyond()
        }
        GateDecision::AllowedUndecided(error) => {
            tracing::debug!(pool, claim, %error, "admitted without a decision");
            place.admit_beyond()
        }
        GateDecision::DeniedUndecided(error) => place.refuse_undecided(&error.to_string()),
    }
}
