//! What this account may do to NodeClaims. The manifests give each right by a choice of its own, so a cluster may
//! lack any of them.

use std::time::Duration;

use kube::Client;
use poolgate_core::nodelimit::plan::Rights;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use super::apply::{CALL, Writer};
use crate::cluster::{ApiError, Collection, Deadline};

/// How often the API server is asked.
const PERIOD: Duration = Duration::from_mins(1);

/// Where an account asks what it may do.
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// What the API server said last.
pub struct GrantedRights {
    client: Client,
    /// All of them until the first answer: the API server itself denies what is not allowed.
    granted: Rights,
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

impl GrantedRights {
    /// With `--observe` the API server is not asked.
    pub fn of(writer: &Writer) -> Self {
        Self {
            client: writer.client.clone(),
            granted: Rights::ALL,
            ask_at: (!writer.observe).then(Instant::now),
            failure: None,
        }
    }

    pub const fn granted(&self) -> Rights {
        self.granted
    }

    /// Asks again if it is time to. Returns whether an answer has changed.
    pub async fn follow(&mut self) -> bool {
        let now = Instant::now();
        if self.ask_at.is_none_or(|at| at > now) {
            return false;
        }
        self.ask_at = Some(now + PERIOD);
        match self.ask().await {
            Ok(granted) => {
                self.failure = None;
                let before = std::mem::replace(&mut self.granted, granted);
                log_changes(before, granted);
                granted != before
            }
            Err(error) => {
                let text = error.to_string();
                if self.failure.as_ref() != Some(&text) {
                    tracing::warn!(%error, "cannot find out what this account may do to NodeClaims");
                    self.failure = Some(text);
                }
                false
            }
        }
    }

    async fn ask(&self) -> Result<Rights, ApiError> {
        Ok(Rights {
            terminate: self.may("terminate").await?,
            delete: self.may("delete").await?,
            patch: self.may("patch").await?,
        })
    }

    /// Whether this account may do that to every NodeClaim. The API server answers by all that is granted, wildcards
    /// included; its list of an account's rules may be incomplete.
    async fn may(&self, verb: &str) -> Result<bool, ApiError> {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {"group": "karpenter.sh", "resource": "nodeclaims", "verb": verb}},
        });
        let reviews = Collection::<Review>::new(self.client.clone(), REVIEWS);
        let answer = reviews.create(&review, Deadline::within(CALL)).await?;
        Ok(answer.status.allowed)
    }
}

/// Says what is granted now and was not before, and what is no longer granted.
fn log_changes(before: Rights, now: Rights) {
    for (verb, before, now, otherwise) in [
        (
            "terminate",
            before.terminate,
            now.terminate,
            "those above a limit are reported and stay",
        ),
        (
            "delete",
            before.delete,
            now.delete,
            "none is terminated, and none is replaced in a full pool",
        ),
        (
            "patch",
            before.patch,
            now.patch,
            "none is repaired in a full pool, because no deadline can be set",
        ),
    ] {
        match (before, now) {
            (false, true) => tracing::info!("this account may {verb} NodeClaims now"),
            (true, false) => tracing::info!("this account may not {verb} NodeClaims: {otherwise}"),
            _ => {}
        }
    }
}
