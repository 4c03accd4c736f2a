//! How what was decided is written: each write with a deadline, only while this replica leads, and bound to the UID
//! of the object that was judged. Knows nothing of why.

mod claims;
mod events;
mod limits;
mod marks;

use std::time::Duration;

use kube::api::DynamicObject;
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use tokio::time::{Instant, timeout};

use super::metrics::{CallResult, ReconcileMetrics, Write};
use crate::cluster::{Leadership, VictimError, described};

pub(super) use events::PublishedEvents;
pub(super) use limits::restore_limits;
pub(super) use marks::{Marker, unhold_all};

/// How long a call may take.
pub(super) const CALL: Duration = Duration::from_secs(10);

/// The name by which poolgate owns what it applies.
const MANAGER: &str = "poolgate";

/// HTTP statuses that a write may meet without anything being wrong.
const NOT_FOUND: u16 = 404;
const CONFLICT: u16 = 409;
const INVALID: u16 = 422;

/// Why something was not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    /// Another replica leads, or may.
    #[error("this replica does not lead")]
    NotLeading,
    /// The API server did not do it.
    #[error("{}", described(.0))]
    Client(#[from] kube::Error),
    /// A ledger was not read or not written.
    #[error(transparent)]
    Ledger(#[from] VictimError),
    /// It did not answer.
    #[error("no answer from the API server within {} s", CALL.as_secs())]
    NoAnswer,
}

impl WriteError {
    fn status(&self) -> Option<u16> {
        match self {
            Self::Client(kube::Error::Api(status)) => Some(status.code),
            _ => None,
        }
    }

    /// Whether what was to be written to is not there any more.
    fn is_gone(&self) -> bool {
        self.status() == Some(NOT_FOUND)
    }

    /// Whether it is another one by now, or somebody else's.
    fn is_conflict(&self) -> bool {
        self.status() == Some(CONFLICT) || self.is_of_another_uid()
    }

    /// Whether a patch met an object of another UID: to the API server that is a change of the UID.
    fn is_of_another_uid(&self) -> bool {
        let Self::Client(kube::Error::Api(status)) = self else {
            return false;
        };
        let causes = status.details.iter().flat_map(|details| &details.causes);
        status.code == INVALID && causes.into_iter().any(|cause| cause.field == "metadata.uid")
    }
}

/// Writes to the cluster.
pub(super) struct Writer {
    client: Client,
    leadership: Leadership,
    metrics: ReconcileMetrics,
    observe: bool,
}

impl Writer {
    /// Writes while `leadership` holds; with `observe` nothing at all.
    pub(super) fn new(
        client: Client,
        leadership: Leadership,
        metrics: ReconcileMetrics,
        observe: bool,
    ) -> Self {
        Self {
            client,
            leadership,
            metrics,
            observe,
        }
    }

    pub(super) const fn client(&self) -> &Client {
        &self.client
    }

    /// Whether nothing is written.
    pub(super) fn observes(&self) -> bool {
        self.observe
    }

    /// The objects of a kind of Karpenter's.
    fn of_kind(&self, kind: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("karpenter.sh", "v1", kind);
        Api::all_with(self.client.clone(), &kube::api::ApiResource::from_gvk(&kind))
    }

    /// Makes a call that writes, and counts it.
    async fn write<T>(
        &self,
        what: Write,
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, WriteError> {
        let result = self.call(call).await;
        let outcome = match &result {
            Ok(_) => CallResult::Done,
            Err(error) if error.is_gone() || error.is_conflict() => CallResult::Stale,
            Err(_) => CallResult::Failed,
        };
        self.metrics.written(what, outcome);
        result
    }

    /// Makes a call.
    pub(super) async fn call<T>(&self, call: impl Future<Output = kube::Result<T>>) -> Result<T, WriteError> {
        // What was begun while leading may end a little later: others wait longer than that.
        let Some(until) = self.leadership.until() else {
            return Err(WriteError::NotLeading);
        };
        let limit = until.saturating_duration_since(Instant::now()).min(CALL);
        Ok(timeout(limit, call).await.map_err(|_| WriteError::NoAnswer)??)
    }
}
