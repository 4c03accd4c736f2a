//! When a reservation may be removed: only on evidence of the outcome of its create.

use super::claims::ClaimView;
use super::first_seen::FirstSeen;
use super::moment::Observed;
use super::state::Ledger;

/// Removes the reservations whose outcome is known, and opens a closed ledger. Returns whether anything changed.
///
/// - **The claim is in view.** It counts by itself from now on, for every replica whose view shows it: `seen` is
///   raised to the claim's resourceVersion, so that no older view is used for counting.
/// - **The claim has been in view and is gone.** It no longer counts. Older views need not be excluded: at worst
///   they still show the claim.
/// - **The create is over and created nothing**: this replica saw the reservation at least one lifetime ago, and a
///   consistent LIST begun after that lacks the claim. A watch does not prove it: it may be silent.
///
/// A closed ledger lacks reservations. It opens as if they were all known: this replica saw it, closed and with a limit,
/// at least one lifetime ago, and a consistent LIST begun after that shows their outcome. `seen` may be lost with them,
/// so no replica may count by a view that is older than that LIST.
pub fn settle(ledger: &mut Ledger, claims: &Observed<&ClaimView>, first_seen: &FirstSeen) -> bool {
    let before = ledger.reservations.len();
    let view = claims.value;
    let opens = first_seen.opens_at(ledger).is_some_and(|at| claims.is_as_of(at));
    if opens {
        ledger.open(view.version());
    }
    let seen = &mut ledger.seen;
    ledger.reservations.retain(|uid, _| {
        if let Some(claim) = view.get(uid) {
            *seen = (*seen).max(claim.version);
            return false;
        }
        let came_to_nothing = || first_seen.over_at(uid).is_some_and(|over| claims.is_as_of(over));
        !view.has_departed(uid) && !came_to_nothing()
    });
    opens || ledger.reservations.len() != before
}

/// Ends surges: forgets the claims admitted above the limit that are gone or came to nothing, and of the others the
/// oldest, until no more are left than there are places taken above the limit. Returns whether anything changed.
///
/// Not by a view that may lack claims: it would end surges that are not over.
pub fn end_surges(ledger: &mut Ledger, view: &ClaimView, above: usize) -> bool {
    let Ledger {
        surged, reservations, ..
    } = ledger;
    let before = surged.len();
    surged.retain(|uid| view.get(uid).is_some() || reservations.contains_key(uid));
    surged.drain(..surged.len().saturating_sub(above));
    surged.len() != before
}
