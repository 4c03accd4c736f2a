//! The ledger of a pool's node limit: who may still come in, decided exactly by any number of gate replicas.
//!
//! A NodeClaim that the gate admits is not there yet: it is written after the answer, up to 34 s later, and each
//! replica's watch shows it later still. So what a replica sees is never the whole count. The difference lies in the
//! **ledger**, one small stored object for each pool, changed by compare-and-swap: it holds a **reservation** for each
//! admitted UID, from before the answer until there is evidence of what became of it. The count is the claims in
//! view together with the reservations.
//!
//! # What the caller does
//!
//! 1. Read the ledger, or take it from memory, and tell [`FirstSeen::observe`] of it once it is here.
//! 2. Call [`decide()`] with it, a view of the pool's claims, the pool's limit, and all requests that wait.
//! 3. [`Step::Read`]: read anew what it names, begin again at 1 (a conflict likewise). Reads may run side by side.
//! 4. [`Step::Decided`]: a [`Write::Required`] ledger is stored with the resourceVersion at which the ledger was
//!    read (a missing one is created). On success answer; on a conflict, or when the outcome is unknown, begin again
//!    at 1 with a ledger read anew: a reservation that is there after all is found by its UID.
//! 5. Where a [`RequestVerdict::Reserved`] can no longer be sent, [`Ledger::release`] gives the place back at once.
//! 6. Soon after admitted claims come into view, [`decide()`] with no request takes their reservations out.
//!
//! # Why the count is never too low
//!
//! Let a replica hold ledger *L* and a view complete up to version *V*, with *V* ≥ *L*.seen. Take any claim that
//! exists, or may yet come to exist. It was given a reservation before it could be written. If the reservation is in *L*, it
//! counts. If it was taken out, then on evidence: either the claim was in somebody's view at a version ≤ *L*.seen ≤
//! *V*, so it is in this view too, or is gone; or its create is over and a consistent LIST begun after that lacks it,
//! so it never comes. If the reservation was added after *L*, the compare-and-swap fails, and so does this decision.
//! The order in which ledger and view are read does not matter for that, nor does any clock.
//!
//! Pure: knows nothing of clusters, of where a ledger is stored, or of clocks. Monotonic time comes in as
//! [`Moment`], and wall time is only ever written down.

mod claims;
mod decide;
mod decision;
mod evidence;
mod first_seen;
mod moment;
mod state;
mod text;
mod uid;

pub use claims::{Claim, ClaimView};
pub use decide::{Facts, Request, decide};
pub use decision::{Decision, Denial, Full, Needs, RequestVerdict, Step, Write};
pub use first_seen::{FirstSeen, RESERVATION_LIFETIME};
pub use moment::{Moment, Observed, ReadSpan};
pub use state::{
    DenialRecord, Ledger, LimitInForce, MAX_RESERVATIONS, MAX_VICTIMS, Termination, TooManyVictims,
};
pub use text::{MAX_TEXT, UnreadableLedger, VERSION};
pub use uid::{MAX_UID, Uid, UnusableUid};
