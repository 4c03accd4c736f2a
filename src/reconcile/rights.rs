//! This account's rights on NodeClaims. The manifests grant each right separately, so a cluster may lack any of them.

use std::future::pending;
use std::time::Duration;

use kube::Client;
use poolgate_core::nodelimit::plan::Rights;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::sleep;

use super::apply::{CALL, Writer};
use crate::cluster::{ApiError, Collection, Deadline};
use crate::runtime::telemetry::LogOnce;

/// How often the rights are read.
const PERIOD: Duration = Duration::from_mins(1);

/// The reviews by which an account learns its rights.
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// The API server's last answer; none before the first request.
#[derive(Debug, Default)]
pub struct GrantedRights(watch::Sender<Option<Rights>>);

#[derive(Deserialize)]
struct Review {
    status: ReviewStatus,
}

#[derive(Deserialize)]
struct ReviewStatus {
    allowed: bool,
}

impl GrantedRights {
    /// All of them until the first answer: the API server itself denies what is not allowed.
    pub fn granted(&self) -> Rights {
        self.0.borrow().unwrap_or(Rights::ALL)
    }

    /// Whether the API server has answered.
    pub fn are_known(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Notifies of each change.
    pub fn changes(&self) -> watch::Receiver<Option<Rights>> {
        self.0.subscribe()
    }

    /// Reads the rights periodically while this replica leads. With `--observe` they are not read.
    pub async fn follow(&self, writer: &Writer) {
        let (logged, mut leadership) = (LogOnce::default(), writer.leadership.clone());
        if writer.observe {
            self.0.send_replace(Some(Rights::ALL));
            return pending().await;
        }
        loop {
            while !leadership.holds() {
                leadership.changed().await;
            }
            let before = self.granted();
            let granted = match ask(&writer.client).await {
                Ok(granted) => {
                    logged.is_over(&());
                    log_changes(before, granted);
                    granted
                }
                Err(error) => {
                    if logged.is_news((), error.to_string()) {
                        tracing::warn!(%error, "could not check this account's rights on NodeClaims");
                    }
                    before
                }
            };
            self.0
                .send_if_modified(|known| known.replace(granted) != Some(granted));
            sleep(PERIOD).await;
        }
    }
}

async fn ask(client: &Client) -> Result<Rights, ApiError> {
    Ok(Rights {
        terminate: may(client, "terminate").await?,
        delete: may(client, "delete").await?,
        patch: may(client, "patch").await?,
    })
}

/// Whether this account may do that to every NodeClaim. The API server answers by all that is granted, wildcards
/// included; its list of an account's rules may be incomplete.
async fn may(client: &Client, verb: &str) -> Result<bool, ApiError> {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"group": "karpenter.sh", "resource": "nodeclaims", "verb": verb}},
    });
    let reviews = Collection::<Review>::new(client.clone(), REVIEWS);
    let answer = reviews.create(&review, Deadline::within(CALL)).await?;
    Ok(answer.status.allowed)
}

/// Logs granted and withdrawn rights.
fn log_changes(before: Rights, now: Rights) {
    for (verb, before, now, otherwise) in [
        (
            "terminate",
            before.terminate,
            now.terminate,
            "nodes above a limit will only be reported",
        ),
        (
            "delete",
            before.delete,
            now.delete,
            "no node will be terminated, or replaced in a full pool",
        ),
        (
            "patch",
            before.patch,
            now.patch,
            "broken nodes in full pools will not be repaired",
        ),
    ] {
        match (before, now) {
            (false, true) => tracing::info!("RBAC now grants {verb} on nodeclaims"),
            (true, false) => tracing::info!("missing RBAC: {verb} on nodeclaims; {otherwise}"),
            _ => {}
        }
    }
}
