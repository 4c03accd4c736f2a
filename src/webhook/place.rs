//! A NodeClaim asks for a place: from the review to the gate, and from its decision to the answer.

use std::time::Duration;

use crate::admission::Answer;
use crate::admission::gate::{PlaceReview, sentence};
use crate::cluster::{Ask, Gate, Outcome};

/// Asks the gate, which answers within `limit`.
pub(super) async fn ask<'b>(gate: &Gate, place: &PlaceReview<'b>, limit: Duration) -> Answer<'b> {
    let ask = Ask {
        pool: &place.pool,
        uid: &place.uid,
        name: &place.name,
        dry_run: place.is_dry_run(),
    };
    let (pool, claim) = (&*place.pool, &*place.name);
    match gate.ask(ask, limit).await {
        Outcome::Allowed => place.admit(),
        Outcome::Denied(refused) => {
            tracing::info!(pool, claim, reason = sentence(pool, &refused), "no place");
            place.refuse(&refused)
        }
        Outcome::WouldDeny(refused) => {
            tracing::info!(
                pool,
                claim,
                reason = sentence(pool, &refused),
                "no place; admitted by --gate-observe"
            );
            place.admit_beyond()
        }
        Outcome::AllowedUndecided(error) => {
            tracing::debug!(pool, claim, %error, "admitted without a decision");
            place.admit_beyond()
        }
        Outcome::DeniedUndecided(error) => place.refuse_undecided(&error.to_string()),
    }
}
