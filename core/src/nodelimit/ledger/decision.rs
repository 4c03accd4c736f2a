//! What a decision can be.

use super::state::{Ledger, LimitInForce};

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing can be decided before this is read.
    Read(Needs),
    /// All requests are decided.
    Decided(Decision),
}

/// What is to be read from the API server itself, now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Needs {
    /// The ledger: GET.
    pub ledger: bool,
    /// The pool's claims: a consistent LIST.
    pub claims: bool,
    /// The NodePool: GET.
    pub limit: bool,
}

impl Needs {
    /// Whether anything is to be read.
    pub const fn any(self) -> bool {
        self.ledger || self.claims || self.limit
    }

    pub(super) fn add(&mut self, more: Self) {
        self.ledger |= more.ledger;
        self.claims |= more.claims;
        self.limit |= more.limit;
    }
}

/// The answers, and what has to be stored for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The ledger that results.
    pub write: Write,
    /// One for each request, in their order.
    pub answers: Vec<RequestVerdict>,
}

/// What is to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Nothing has changed.
    Nothing,
    /// The answers hold without it; if it conflicts, drop it.
    Useful(Ledger),
    /// No "allow" may be sent before it is stored.
    Required(Ledger),
}

/// The answer to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestVerdict {
    /// It may be created, and the ledger to be stored holds a reservation for this call: the one kind of answer that
    /// [`Ledger::release`] is for.
    Reserved,
    /// It may be created, and nothing is held for this call: a dry run, or the repeated call of a claim that has been
    /// created already.
    Allow,
    /// It may not.
    Deny(Denial),
}

/// Why a claim is denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Denial {
    /// No place is left in the pool.
    Full(Full),
    /// There is room, but the ledger holds [`super::MAX_RESERVATIONS`] creates whose end is not known yet.
    Busy,
    /// There may be room, but the ledger was lost, and with it who else was admitted.
    LedgerLost,
}

/// The count that left no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Full {
    /// The limit.
    pub limit: LimitInForce,
    /// Places taken: claims that count, and outstanding reservations.
    pub occupied: usize,
    /// Claims that are being deleted. Under Hard they are part of `occupied`, under Soft not.
    pub terminating: usize,
    /// The part of `occupied` that is admitted and not yet seen. Those admitted just now are among them.
    pub outstanding: usize,
    /// Whether the claims were last listed before the request arrived: room that came since then is not counted.
    pub stale: bool,
}
