//! Why the gate cannot decide, and what a failed call means for its round.

use std::time::Duration;

use poolgate_core::nodelimit::ledger::UnusableUid;

use crate::cluster::{ApiError, LedgerError};

/// HTTP statuses that say that the client is at fault, so that calling again does not help; and the exceptions.
const FINAL: std::ops::Range<u16> = 400..500;
const REQUEST_TIMEOUT: u16 = 408;
const CONFLICT: u16 = 409;
const GONE: u16 = 410;
const TOO_MANY_REQUESTS: u16 = 429;

/// What happens to a creation that cannot be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// The NodeClaim is created: the limit may be exceeded, but new nodes still come.
    Allow,
    /// It is not created: the limit holds, but no new nodes come until the gate can decide again.
    Deny,
}

/// Why a creation could not be decided. What happens then depends on the path of the request.
#[derive(Debug, Clone, thiserror::Error)]
pub enum GateError {
    /// Too many creations wait.
    #[error("too many NodeClaims are waiting for a decision")]
    Busy,
    /// There was no decision in time.
    #[error("no decision was made within {} ms", .0.as_millis())]
    Late(Duration),
    /// The UID of the NodeClaim cannot be used.
    #[error("the NodeClaim has no usable UID: {0}")]
    Uid(#[from] UnusableUid),
    /// The pool's ledger is broken.
    #[error("{0}")]
    Ledger(String),
    /// The API server did not return what the decision needs, or did not store the decision.
    #[error("{0}")]
    ApiServer(String),
    /// The pool's limit cannot be read.
    #[error("{0}")]
    Limit(Box<str>),
    /// The pool may have room, but its claims took too long to list.
    #[error("listing the pool's NodeClaims timed out")]
    ListLate,
    /// A part of poolgate has stopped.
    #[error("poolgate crashed during this decision, see its log")]
    Ended,
}

impl GateError {
    /// The word for metrics.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Late(_) => "late",
            Self::Uid(_) => "uid",
            Self::Ledger(_) => "ledger",
            Self::ApiServer(_) => "api_server",
            Self::Limit(_) => "limit",
            Self::ListLate => "list_late",
            Self::Ended => "ended",
        }
    }
}

/// Why a step of a round did not succeed.
#[derive(Debug, Clone)]
pub enum CallError {
    /// The ledger has changed.
    Conflict,
    /// The API server failed.
    Failure {
        /// The answer to the creations that wait.
        error: GateError,
        /// Whether the next try would fail as well.
        is_final: bool,
    },
}

impl From<ApiError> for CallError {
    fn from(error: ApiError) -> Self {
        let is_final = error.status().is_some_and(|status| {
            FINAL.contains(&status)
                && !matches!(status, REQUEST_TIMEOUT | CONFLICT | GONE | TOO_MANY_REQUESTS)
        });
        Self::Failure {
            error: GateError::ApiServer(error.to_string()),
            is_final,
        }
    }
}

impl From<LedgerError> for CallError {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Conflict => Self::Conflict,
            LedgerError::Api(error) => error.into(),
            LedgerError::Broken(_) | LedgerError::TooMany(_) | LedgerError::Uid(_) => Self::Failure {
                error: GateError::Ledger(error.to_string()),
                is_final: true,
            },
        }
    }
}
