//! Why the gate cannot decide: calls of the API server that end in time, and what a failed one means for the round that
//! made it.

use std::time::Duration;

use poolgate_core::nodelimit::ledger::UnusableUid;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::cluster::claims::ListError;
use crate::cluster::ledgers::StoreError;
use crate::cluster::watch::described;

/// HTTP statuses of the client's own fault: calling again brings the same. Some of them are not.
const FINAL: std::ops::Range<u16> = 400..500;
const REQUEST_TIMEOUT: u16 = 408;
const CONFLICT: u16 = 409;
const GONE: u16 = 410;
const TOO_MANY_REQUESTS: u16 = 429;

/// What becomes of a creation that cannot be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnError {
    /// The NodeClaim is created: the limit may be exceeded, and nodes keep coming.
    Allow,
    /// It is not: the limit holds, and no nodes come until decisions can be made again.
    Deny,
}

/// Why a creation could not be decided. The path that asked says what becomes of it.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum GateError {
    /// More wait than are kept.
    #[error("too many NodeClaims wait for an answer")]
    Busy,
    /// There was no decision in time.
    #[error("there was no decision within {} ms", .0.as_millis())]
    Late(Duration),
    /// The identity of the NodeClaim is of no use.
    #[error("the NodeClaim has no usable UID: {0}")]
    Uid(#[from] UnusableUid),
    /// The pool's ledger is broken.
    #[error("{0}")]
    Ledger(String),
    /// The API server does not answer with what the decision needs, or does not store it.
    #[error("{0}")]
    ApiServer(String),
    /// The pool may have room, and its claims take too long to list.
    #[error("the NodeClaims of the pool could not be listed in time")]
    ListLate,
    /// A part of poolgate has ended.
    #[error("poolgate crashed on this decision: see its log")]
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
            Self::ListLate => "list_late",
            Self::Ended => "ended",
        }
    }
}

/// Why a step of a round did not succeed.
#[derive(Debug, Clone)]
pub(super) enum CallError {
    /// The ledger is another one by now.
    Conflict,
    /// The API server failed.
    Failure {
        /// The answer to those who wait.
        error: GateError,
        /// Whether the next try would fail as well.
        is_final: bool,
    },
}

/// Makes a call that ends within `limit`.
pub(super) async fn in_time<T, E>(
    limit: Duration,
    call: impl Future<Output = Result<T, E>>,
) -> Result<T, CallError>
where
    CallError: From<E>,
{
    match timeout(limit, call).await {
        Ok(answer) => answer.map_err(CallError::from),
        Err(Elapsed { .. }) => Err(CallError::Failure {
            error: GateError::ApiServer(format!(
                "no answer from the API server within {} ms",
                limit.as_millis()
            )),
            is_final: false,
        }),
    }
}

impl From<kube::Error> for CallError {
    fn from(error: kube::Error) -> Self {
        let is_final = match &error {
            kube::Error::Api(status) => {
                FINAL.contains(&status.code)
                    && !matches!(status.code, REQUEST_TIMEOUT | CONFLICT | GONE | TOO_MANY_REQUESTS)
            }
            _ => false,
        };
        Self::Failure {
            error: GateError::ApiServer(described(&error)),
            is_final,
        }
    }
}

impl From<StoreError> for CallError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict => Self::Conflict,
            StoreError::Broken(broken) => Self::Failure {
                error: GateError::Ledger(broken.to_string()),
                is_final: true,
            },
            StoreError::Client(error) => error.into(),
        }
    }
}

impl From<ListError> for CallError {
    fn from(error: ListError) -> Self {
        match error {
            ListError::Client(error) => error.into(),
            ListError::NoVersion => Self::Failure {
                error: GateError::ApiServer(error.to_string()),
                is_final: true,
            },
        }
    }
}
