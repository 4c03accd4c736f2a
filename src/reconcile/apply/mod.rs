//! Writes what a plan decided: each write has a deadline, happens only while this replica leads, and is bound to
//! the UID of the object that the plan saw. The reasons are not known here.

mod claims;
mod drain;
mod events;
mod freezes;
mod limits;
mod marks;

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use serde::de::IgnoredAny;
use tokio::time::Instant;

use super::metrics::ReconcileMetrics;
use crate::cluster::clock::Clock;
use crate::cluster::{ApiError, Collection, Deadline, Leadership, LedgerError};
use crate::runtime::telemetry::LogOnce;

pub use events::PublishedEvents;
pub use freezes::{end_freezes, frozen_pools};
pub use limits::restore_limits;
pub use marks::unhold_all;

/// How long a call may take.
pub const CALL: Duration = Duration::from_secs(10);

/// How many objects are in one page of a list.
pub const PAGE: u32 = 500;

/// The field manager of what poolgate applies.
const MANAGER: &str = "poolgate";

/// Why something was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Another replica leads, or may lead.
    #[error("this replica is not the leader")]
    NotLeading,
    /// The reads before a deletion took too long.
    #[error("the state read for a deletion is too old")]
    Outdated,
    /// The API server refused the call, or the call failed.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// A ledger was not read or not written.
    #[error("ledger: {0}")]
    Ledger(#[from] LedgerError),
}

impl WriteError {
    const fn api(&self) -> Option<&ApiError> {
        match self {
            Self::Api(error) => Some(error),
            Self::NotLeading | Self::Outdated | Self::Ledger(_) => None,
        }
    }

    /// Whether the API server answered, and did not do it.
    pub fn is_refusal(&self) -> bool {
        self.api().is_some_and(ApiError::is_refusal)
    }

    /// Whether the object to write to no longer exists.
    fn is_gone(&self) -> bool {
        self.api().is_some_and(ApiError::is_not_found)
    }

    /// Whether the object was replaced or changed, or another manager owns the field.
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Ledger(LedgerError::Conflict)) || self.api().is_some_and(ApiError::is_conflict)
    }

    /// Whether the object is not the one that the plan saw.
    fn is_stale(&self) -> bool {
        self.is_gone() || self.is_conflict()
    }
}

/// Writes to the cluster while `leadership` holds.
pub struct Writer {
    pub client: Client,
    pub leadership: Leadership,
    pub metrics: ReconcileMetrics,
    pub clock: Clock,
    /// Whether nothing is written.
    pub observe: bool,
    /// The UIDs of nodes that cannot be held because of another manager's mark.
    pub unheld: LogOnce<Arc<str>>,
}

impl Writer {
    /// The objects at a path, written to without reading what is stored then.
    fn written(&self, path: &str) -> Collection<IgnoredAny> {
        Collection::new(self.client.clone(), path)
    }

    /// Makes a call that writes, and counts it as `what`.
    async fn write<T, E: Into<WriteError>, F: Future<Output = Result<T, E>>>(
        &self,
        what: &'static str,
        call: impl FnOnce(Deadline) -> F,
    ) -> Result<T, WriteError> {
        let result = self.call(call).await;
        let outcome = match &result {
            Ok(_) => "success",
            Err(error) if error.is_stale() => "stale",
            Err(_) => "error",
        };
        self.metrics.written(what, outcome);
        result
    }

    /// The same; `None` if the object is not the one that the plan saw.
    pub async fn write_unless_stale<T, E: Into<WriteError>, F: Future<Output = Result<T, E>>>(
        &self,
        what: &'static str,
        call: impl FnOnce(Deadline) -> F,
    ) -> Result<Option<T>, WriteError> {
        match self.write(what, call).await {
            Err(error) if error.is_stale() => Ok(None),
            written => written.map(Some),
        }
    }

    /// Makes a call, which is given its deadline.
    pub async fn call<T, E: Into<WriteError>, F: Future<Output = Result<T, E>>>(
        &self,
        call: impl FnOnce(Deadline) -> F,
    ) -> Result<T, WriteError> {
        // A call begun while leading may end a little later: other replicas wait longer than that.
        let Some(until) = self.leadership.until() else {
            return Err(WriteError::NotLeading);
        };
        let by = Deadline::at(until.min(Instant::now() + CALL));
        call(by).await.map_err(Into::into)
    }
}
