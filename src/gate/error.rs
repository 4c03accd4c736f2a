//! Why the gate cannot decide.

use std::time::Duration;

use poolgate_core::nodelimit::ledger::UnusableUid;

/// Why a creation could not be decided. `--gate-on-error` says what becomes of it.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum GateError {
    /// More wait than are kept.
    #[error("too many NodeClaims wait for an answer")]
    Busy,
    /// There was no decision in time.
    #[error("there was no decision within {} ms", .0.as_millis())]
    Late(Duration),
    /// The identity of the NodeClaim is of no use.
    #[error("the NodeClaim cannot be told from others: {0}")]
    Uid(#[from] UnusableUid),
    /// The pool's ledger is broken.
    #[error("{0}")]
    Ledger(String),
    /// The API server does not bring what the decision rests on, or does not store it.
    #[error("{0}")]
    ApiServer(String),
    /// A part of poolgate has ended.
    #[error("poolgate failed over this decision; its log says where")]
    Ended,
}

impl GateError {
    /// The word for metrics.
    pub(super) const fn reason(&self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Late(_) => "late",
            Self::Uid(_) => "uid",
            Self::Ledger(_) => "ledger",
            Self::ApiServer(_) => "api_server",
            Self::Ended => "ended",
        }
    }
}
