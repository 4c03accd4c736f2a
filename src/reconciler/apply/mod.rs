//! Writes what a plan decided: each write has a deadline, happens only while this replica leads, and is bound to
//! the UID of the object that the plan saw. The reasons are not known here.

mod claims;
mod drain;
mod events;
mod limits;
mod marks;

use std::time::Duration;

use kube::api::DynamicObject;
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use tokio::time::{Instant, timeout};

use super::metrics::ReconcileMetrics;
use crate::cluster::{Leadership, VictimError, described};

pub use events::PublishedEvents;
pub use limits::restore_limits;
pub use marks::{Marker, unhold_all};

/// How long a call may take.
pub const CALL: Duration = Duration::from_secs(10);

/// How many objects are in one page of a list.
const PAGE: u32 = 500;

/// The field manager of what poolgate applies.
const MANAGER: &str = "poolgate";

/// HTTP statuses of a write that are not errors.
const NOT_FOUND: u16 = 404;
const CONFLICT: u16 = 409;
const INVALID: u16 = 422;

/// Why something was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Another replica leads, or may lead.
    #[error("this replica does not lead")]
    NotLeading,
    /// The API server refused the call, or it failed.
    #[error("{}", described(.0))]
    Client(#[from] kube::Error),
    /// A ledger was not read or not written.
    #[error(transparent)]
    Ledger(#[from] VictimError),
    /// The API server did not answer.
    #[error("no answer from the API server in time")]
    NoAnswer,
}

impl WriteError {
    fn status(&self) -> Option<u16> {
        match self {
            Self::Client(kube::Error::Api(status)) => Some(status.code),
            _ => None,
        }
    }

    /// Whether the API server answered, and did not do it.
    pub fn is_refusal(&self) -> bool {
        self.status().is_some()
    }

    /// Whether the object to write to no longer exists.
    fn is_gone(&self) -> bool {
        self.status() == Some(NOT_FOUND)
    }

    /// Whether the object was replaced or changed, or another manager owns the field.
    fn is_conflict(&self) -> bool {
        match self {
            Self::Ledger(error) => error.is_conflict(),
            _ => self.status() == Some(CONFLICT) || self.is_of_another_uid(),
        }
    }

    /// Whether the object is not the one that the plan saw.
    fn is_stale(&self) -> bool {
        self.is_gone() || self.is_conflict()
    }

    /// Whether the object has another UID than the patch: the API server takes that as a change of the UID.
    fn is_of_another_uid(&self) -> bool {
        let Self::Client(kube::Error::Api(status)) = self else {
            return false;
        };
        let causes = status.details.iter().flat_map(|details| &details.causes);
        status.code == INVALID && causes.into_iter().any(|cause| cause.field == "metadata.uid")
    }
}

/// Writes to the cluster while `leadership` holds.
pub struct Writer {
    pub client: Client,
    pub leadership: Leadership,
    pub metrics: ReconcileMetrics,
    /// Whether nothing is written.
    pub observe: bool,
}

impl Writer {
    /// The objects of one of Karpenter's kinds.
    fn of_kind(&self, kind: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("karpenter.sh", "v1", kind);
        Api::all_with(self.client.clone(), &kube::api::ApiResource::from_gvk(&kind))
    }

    /// Makes a call that writes, and counts it as `what`.
    async fn write<T>(
        &self,
        what: &'static str,
        call: impl Future<Output = Result<T, impl Into<WriteError>>>,
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
    pub async fn write_unless_stale<T>(
        &self,
        what: &'static str,
        call: impl Future<Output = Result<T, impl Into<WriteError>>>,
    ) -> Result<Option<T>, WriteError> {
        match self.write(what, call).await {
            Err(error) if error.is_stale() => Ok(None),
            written => written.map(Some),
        }
    }

    /// Makes a call.
    pub async fn call<T>(
        &self,
        call: impl Future<Output = Result<T, impl Into<WriteError>>>,
    ) -> Result<T, WriteError> {
        // A call begun while leading may end a little later: other replicas wait longer than that.
        let Some(until) = self.leadership.until() else {
            return Err(WriteError::NotLeading);
        };
        let limit = until.saturating_duration_since(Instant::now()).min(CALL);
        let answer = timeout(limit, call).await.map_err(|_| WriteError::NoAnswer)?;
        answer.map_err(Into::into)
    }
}
