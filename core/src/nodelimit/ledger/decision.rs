//! The possible outcomes of a decision.

use super::state::{Ledger, LimitInForce};

/// What to do next: read something, or answer.
#[allow(
    clippy::large_enum_variant,
    reason = "there is one at a time, and it is not kept"
)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing can be decided before this is read.
    Read(Needs),
    /// All requests are decided.
    Decided(Decision),
}

/// What must be read from the API server itself, now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Needs {
    /// The ledger, by a GET.
    pub ledger: bool,
    /// The pool's claims: a consistent LIST.
    pub claims: bool,
    /// The NodePool with its limit, by a GET.
    pub limit: bool,
}

impl Needs {
    /// Whether anything must be read.
    pub const fn any(self) -> bool {
        self.ledger || self.claims || self.limit
    }

    pub(crate) fn add(&mut self, more: Self) {
        self.ledger |= more.ledger;
        self.claims |= more.claims;
        self.limit |= more.limit;
    }
}

/// The answers, and what must be stored for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Which ledger to store, if any.
    pub write: Write,
    /// One answer per request, in their order.
    pub answers: Vec<RequestVerdict>,
}

/// What must be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Nothing: the ledger stays as it is.
    Nothing,
    /// The answers hold without it; if it conflicts, drop it.
    Useful(Ledger),
    /// No "allow" may be sent before it is stored.
    Required(Ledger),
}

/// The answer to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestVerdict {
    /// The claim may be created, and the ledger to store holds a reservation for this call: the only kind of answer
    /// that [`Ledger::release`] is for.
    Reserved,
    /// The claim may be created, and nothing is reserved for this call: a dry run, or a repeated call for a claim
    /// that exists already.
    Allow,
    /// The claim may not be created.
    Deny(Denial),
}

/// Why a claim is denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Denial {
    /// The pool has no room left.
    Full(Full),
    /// There is room, but the ledger holds [`super::state::MAX_RESERVATIONS`] creates whose outcome is not known yet.
    Busy,
    /// There may be room, but the ledger was lost, and with it the record of other admitted claims.
    LedgerLost,
}

/// The count that left no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Full {
    /// The limit that was reached.
    pub limit: LimitInForce,
    /// Claims that count, and outstanding reservations.
    pub occupied: usize,
    /// Claims that are being deleted. They are part of `occupied` under Hard, but not under Soft.
    pub terminating: usize,
    /// The part of `occupied` that is admitted and not yet seen, including claims admitted just now.
    pub outstanding: usize,
    /// How many claims are being disrupted, which makes room for that many more up to the surge.
    pub disrupted: usize,
    /// Whether the claims were last listed before the request arrived: room that was made since then is not
    /// counted, and the surge is not used.
    pub stale: bool,
}
