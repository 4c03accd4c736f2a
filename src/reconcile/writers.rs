//! Which reconcilers may still write marks and limits. What cleans up after them must be the last to write.

use std::time::Duration;

use kube::Client;
use kube::api::ListParams;
use serde::Deserialize;
use tokio::time::{Instant, sleep};

use super::apply::CALL;
use super::parts::LEASE;
use crate::cluster::clock::Clock;
use crate::cluster::objects::{DeploymentObject, Metadata, Object, Started};
use crate::cluster::{ApiError, Collection, Deadline, lease_holder, lease_is_silent};

/// The labels of the reconciler's pods.
const LABELS: &str = "app.kubernetes.io/part-of=poolgate,app.kubernetes.io/component=reconciler";

/// Its Deployment.
const DEPLOYMENT: &str = "poolgate-reconciler";

/// How long its pods have to end: their grace period of 30 s, and some reserve.
const END: Duration = Duration::from_secs(40);

/// The pause between two looks.
const PAUSE: Duration = Duration::from_secs(1);

/// Where the reconcilers of a cluster are.
pub struct Writers<'a> {
    pub client: Client,
    /// The namespace of their pods; `None` for all namespaces.
    pub namespace: Option<&'a str>,
    /// The namespace of their Lease.
    pub ledgers: &'a str,
    pub clock: &'a Clock,
}

/// Why the marks may come back.
#[derive(Debug, thiserror::Error)]
pub enum StillWriting {
    /// Pods that run without `--observe`.
    #[error(
        "pod {namespace}/{name} still runs without --observe, and would set its marks again. Stop it, then repeat: kubectl \
         scale deployment poolgate-reconciler --replicas 0 --namespace {namespace}"
    )]
    Pod {
        /// Where it runs.
        namespace: Box<str>,
        /// Its name.
        name: Box<str>,
    },
    /// Somebody else renews the Lease.
    #[error("{0} still renews the Lease, and would set its marks again. Stop it, then repeat")]
    Holder(String),
    /// A right is missing, or the API server does not answer.
    #[error("could not read {what}: {error}")]
    Unread {
        /// What was read.
        what: &'static str,
        /// Why not.
        error: ApiError,
    },
}

impl StillWriting {
    /// Whether another try has the same answer.
    fn is_refusal(&self) -> bool {
        matches!(self, Self::Unread { error, .. } if error.is_refusal())
    }
}

impl Writers<'_> {
    /// Waits until no reconciler may write any more.
    pub async fn wait_for_end(&self) -> Result<(), StillWriting> {
        let by = Instant::now() + END;
        loop {
            let is_late = Instant::now() >= by;
            match self.pod().await {
                Ok(None) => break,
                Ok(Some(pod)) if is_late => {
                    let Metadata { namespace, name, .. } = pod.metadata;
                    return Err(StillWriting::Pod { namespace, name });
                }
                Ok(Some(pod)) => {
                    let Metadata { namespace, name, .. } = pod.metadata;
                    let pod = format_args!("{namespace}/{name}");
                    tracing::info!(%pod, "waiting until this pod of the reconciler has ended");
                }
                Err(error) if is_late || error.is_refusal() => return Err(error),
                Err(error) => tracing::warn!(%error, "retrying"),
            }
            sleep(PAUSE).await;
        }
        match self.holder().await? {
            Some(holder) => Err(StillWriting::Holder(holder)),
            None => Ok(()),
        }
    }

    /// Whether none may write, now or when a pod starts: the Deployment is gone, only observes, or has no replicas.
    pub async fn have_ended(&self) -> Result<bool, StillWriting> {
        Ok(!self.are_wanted().await? && self.pod().await?.is_none() && self.holder().await?.is_none())
    }

    async fn are_wanted(&self) -> Result<bool, StillWriting> {
        let deployment = self.deployment().await?;
        Ok(deployment.is_some_and(|one| one.spec.replicas != Some(0)))
    }

    /// Whether one that writes is installed, whether it has pods or not.
    pub async fn are_installed(&self) -> Result<bool, StillWriting> {
        Ok(self.deployment().await?.is_some())
    }

    /// The Deployment of those that write.
    async fn deployment(&self) -> Result<Option<DeploymentObject>, StillWriting> {
        let path = self.path("/apis/apps/v1", "deployments");
        let deployments = Collection::<DeploymentObject>::new(self.client.clone(), &path);
        let params = ListParams::default().fields(&format!("metadata.name={DEPLOYMENT}"));
        let all = deployments.pages(params).next(Deadline::within(CALL)).await;
        let all = all.map_err(|error| StillWriting::Unread {
            what: "the reconciler's Deployment",
            error,
        })?;
        let mut all = all.into_iter().flatten();
        Ok(all.find(|one| !one.spec.template.spec.observes()))
    }

    /// A pod that may write.
    async fn pod(&self) -> Result<Option<Pod>, StillWriting> {
        let pods = Collection::<Pod>::new(self.client.clone(), &self.path("/api/v1", "pods"));
        let params = ListParams::default().labels(LABELS);
        let all = pods.pages(params).next(Deadline::within(CALL)).await;
        let all = all.map_err(|error| StillWriting::Unread {
            what: "the reconciler's pods",
            error,
        })?;
        let has_ended = |pod: &Pod| ["Succeeded", "Failed"].contains(&&*pod.status.phase);
        let mut all = all.into_iter().flatten();
        Ok(all.find(|pod| !pod.spec.observes() && !has_ended(pod)))
    }

    /// The holder of the Lease, if it still renews it: it may be in another namespace, or outside the cluster.
    async fn holder(&self) -> Result<Option<String>, StillWriting> {
        let unread = |error| StillWriting::Unread {
            what: "the reconciler's Lease",
            error,
        };
        let Some(holder) = lease_holder(self.client.clone(), self.ledgers, LEASE)
            .await
            .map_err(unread)?
        else {
            return Ok(None);
        };
        let silent = lease_is_silent(
            self.client.clone(),
            self.ledgers,
            LEASE,
            Duration::ZERO,
            self.clock,
        );
        Ok((!silent.await.map_err(unread)?).then_some(holder))
    }

    fn path(&self, group: &str, resource: &str) -> String {
        match self.namespace {
            Some(namespace) => format!("{group}/namespaces/{namespace}/{resource}"),
            None => format!("{group}/{resource}"),
        }
    }
}

type Pod = Object<Metadata, Started, PodStatus>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct PodStatus {
    phase: Box<str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_pod_and_its_namespace() {
        let error = StillWriting::Pod {
            namespace: "platform".into(),
            name: "poolgate-reconciler-a".into(),
        };
        let error = error.to_string();
        assert!(
            error.starts_with("pod platform/poolgate-reconciler-a still runs"),
            "{error}"
        );
        assert!(error.ends_with("--replicas 0 --namespace platform"), "{error}");
    }
}
