//! The ledger of a pool's node limit: which claims may still be created, decided exactly by any number of gate
//! replicas.
//!
//! A NodeClaim that the gate admits does not exist yet: it is written after the answer, up to 34 s later, and each
//! replica's watch shows it later still. So what a replica sees is never the whole count. The difference is kept in
//! the **ledger**, one small stored object for each pool, changed by compare-and-swap: it holds a **reservation**
//! for each admitted UID, from before the answer until there is evidence of its outcome. The count is the claims in
//! view plus the reservations.
//!
//! # What the caller does
//!
//! 1. Read the ledger, or take it from memory, then pass it to [`FirstSeen::observe`].
//! 2. Call [`decide()`] with it, a view of the pool's claims, the pool's limit, and all waiting requests.
//! 3. [`Step::Read`]: read what it names again and start again at 1 (after a conflict, too). Reads may run in
//!    parallel.
//! 4. [`Step::Decided`]: a [`Write::Required`] ledger is stored with the resourceVersion at which the ledger was
//!    read (a missing one is created). On success answer; on a conflict, or if the outcome is unknown, start again
//!    at 1 with a ledger read again: a reservation that was stored after all is found by its UID.
//! 5. If a [`RequestVerdict::Reserved`] can no longer be sent, [`Ledger::release`] frees the room immediately.
//! 6. Soon after admitted claims appear in view, [`decide()`] without requests removes their reservations.
//!
//! # Why the count is never too low
//!
//! Let a replica hold ledger *L* and a view complete up to version *V*, with *V* ≥ *L*.seen. Take any claim that
//! exists, or may still be created. It was given a reservation before it could be written. If the reservation is in
//! *L*, it counts. If it was removed, then on evidence: either the claim was in some replica's view at a version ≤
//! *L*.seen ≤ *V*, so it is in this view too, or is gone; or its create is over and a consistent LIST begun after
//! that lacks it, so it will never exist. If the reservation was added after *L*, the compare-and-swap fails, and
//! so does this decision. The order in which ledger and view are read does not matter for that, nor does any clock.
//!
//! Pure: knows nothing of clusters, of where a ledger is stored, or of clocks. Monotonic time is passed in as
//! [`Moment`], and wall time is only recorded.

mod claims;
mod decide;
mod decision;
mod evidence;
mod moment;
mod state;
mod text;
mod uid;

pub use claims::{ClaimView, CountedClaim};
pub use decide::{ClaimRequest, Facts, decide};
pub use decision::{Decision, Denial, Full, Needs, RequestVerdict, Step, Write};
pub use evidence::FirstSeen;
pub use moment::{Moment, Observed, ReadSpan};
pub use state::{
    DenialRecord, Ledger, LimitInForce, ReplacedFor, Replacement, Stopped, Termination, TooManyVictims,
};
pub use text::{UnreadableLedger, VERSION};
pub use uid::{Uid, UnusableUid};
