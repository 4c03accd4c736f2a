//! Whether this account may delete NodeClaims. The right is a separate component of the manifests, so a cluster may
//! not grant it.

use std::time::Duration;

use hyper::Request;
use kube::Client;
use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::apply::{CALL, WriteError, Writer};

/// How often the API server is asked.
const PERIOD: Duration = Duration::from_mins(1);

/// What the API server said last.
pub(super) struct DeletionRight {
    client: Client,
    /// True until the first answer: the API server itself denies what is not allowed.
    is_granted: bool,
    ask_at: Option<Instant>,
    /// The last failed request, so that each failure is logged once.
    failure: Option<String>,
}

#[derive(Deserialize)]
struct Review {
    status: ReviewStatus,
}

#[derive(Deserialize)]
struct ReviewStatus {
    allowed: bool,
}

impl DeletionRight {
    /// With `--observe` the API server is not asked.
    pub(super) fn of(writer: &Writer) -> Self {
        Self {
            client: writer.client.clone(),
            is_granted: true,
            ask_at: (!writer.observe).then(Instant::now),
            failure: None,
        }
    }

    pub(super) const fn is_granted(&self) -> bool {
        self.is_granted
    }

    /// Asks again if it is time to. Returns whether the answer has changed.
    pub(super) async fn follow(&mut self) -> bool {
        let now = Instant::now();
        if self.ask_at.is_none_or(|at| at > now) {
            return false;
        }
        self.ask_at = Some(now + PERIOD);
        match self.ask().await {
            Ok(is_granted) => {
                self.failure = None;
                let is_other = is_granted != self.is_granted;
                self.is_granted = is_granted;
                match (is_other, is_granted) {
                    (true, true) => tracing::info!("this account may delete NodeClaims now"),
                    (true, false) => tracing::info!(
                        "this account may not delete NodeClaims: those above a limit are reported and stay"
                    ),
                    (false, _) => {}
                }
                is_other
            }
            Err(error) => {
                let text = error.to_string();
                if self.failure.as_ref() != Some(&text) {
                    tracing::warn!(%error, "whether this account may delete NodeClaims is not known");
                    self.failure = Some(text);
                }
                false
            }
        }
    }

    async fn ask(&self) -> Result<bool, WriteError> {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {"group": "karpenter.sh", "resource": "nodeclaims", "verb": "delete"}},
        });
        let request = Request::post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
            .header("content-type", "application/json")
            .body(review.to_string().into_bytes())
            .map_err(kube::Error::HttpError)?;
        let answer = timeout(CALL, self.client.request::<Review>(request)).await;
        Ok(answer.map_err(|_| WriteError::NoAnswer)??.status.allowed)
    }
}
