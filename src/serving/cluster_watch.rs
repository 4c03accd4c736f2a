//! The watches of `serve` and `gate`: the installed Karpenter, NodePools, and their own registration.

use std::sync::Arc;

use futures_util::future::OptionFuture;
use kube::{Client, Config};
use tokio_util::sync::CancellationToken;

use crate::cluster::config::{ClusterArgs, Found, UnusableRoute, find};
use crate::cluster::definition::{self, DefinitionFollower};
use crate::cluster::objects::{DEFINITIONS, NODE_POOLS};
use crate::cluster::pools::PoolFollower;
use crate::cluster::stored_pools::StoredPools;
use crate::cluster::view::{ClusterView, Pools};
use crate::cluster::watch::Watch;
use crate::cluster::{ClusterMetrics, Collection};
use crate::runtime::lifecycle::{StatusBoard, StatusLine};
use crate::runtime::policy_watch::PolicyInForce;
use crate::serving::registration::Registration;

/// The watches before they start.
#[derive(Debug)]
pub struct ClusterWatch {
    view: Arc<ClusterView>,
    /// The basis of the review of stored NodePools, if they are reviewed.
    policy: Option<PolicyInForce>,
    metrics: ClusterMetrics,
    release_line: StatusLine,
    definition: Watch,
    pools: Watch,
    definition_read: CancellationToken,
    registration: Option<Registration>,
}

impl ClusterWatch {
    /// Finds the cluster. `None` if there is none, which is logged once and is not an error.
    pub async fn find(
        args: &ClusterArgs,
        view: Arc<ClusterView>,
        policy: PolicyInForce,
        board: &StatusBoard,
        metrics: ClusterMetrics,
    ) -> Result<Option<(Self, Config)>, UnusableRoute> {
        let release = view.karpenter().release();
        match find(args).await? {
            Found::Cluster(config) => Ok(Some((Self::new(view, Some(policy), board, metrics), *config))),
            Found::Nowhere => {
                tracing::info!(%release, "no kubeconfig, and not running in a pod, so no cluster is watched");
                Ok(None)
            }
            Found::Unusable(error) => {
                tracing::warn!(%release, %error, "no cluster is watched, so `kubectl scale` is not checked");
                Ok(None)
            }
        }
    }

    /// The watches of a cluster. No request is sent yet.
    pub fn new(
        view: Arc<ClusterView>,
        policy: Option<PolicyInForce>,
        board: &StatusBoard,
        metrics: ClusterMetrics,
    ) -> Self {
        metrics.rules_for(&view.karpenter());
        let release_line = board.line("rules for");
        release_line.set(definition::rules_for(&view.karpenter()));
        let watch = |name, meanwhile, line| Watch::new(name, meanwhile, board.line(line), &metrics.watches);
        Self {
            release_line,
            view,
            policy,
            definition: Watch {
                fields: Some(definition::FIELDS),
                ..watch(DEFINITION, UNREAD, "NodePool definition")
            },
            pools: watch("nodepools", "`kubectl scale` is not checked", "static NodePools"),
            metrics,
            definition_read: CancellationToken::new(),
            registration: None,
        }
    }

    /// Checks this registration as well.
    pub fn with(self, registration: Option<Registration>) -> Self {
        Self { registration, ..self }
    }

    /// Cancelled when it is known which Karpenter is installed.
    pub fn definition_read(&self) -> CancellationToken {
        self.definition_read.clone()
    }

    /// Watches with this client until the process stops.
    pub async fn run(self, client: Client) {
        let follow_definition = DefinitionFollower {
            view: Arc::clone(&self.view),
            metrics: self.metrics.clone(),
            installed: Arc::clone(&self.pools.retry),
            line: self.release_line,
            read: self.definition_read,
            seen: false,
        };
        let registration = self
            .registration
            .map(|registration| registration.watch(client.clone(), self.metrics.watches.clone()));
        let stored = |policy| StoredPools::new(Arc::clone(&self.view), policy, self.metrics.clone());
        let follow_pools = PoolFollower {
            stored: self.policy.map(stored),
            view: self.view,
            metrics: self.metrics,
            listing: Pools::default(),
            is_logged: false,
        };
        tokio::join!(
            self.definition
                .run(Collection::new(client.clone(), DEFINITIONS), follow_definition),
            self.pools.run(Collection::new(client, NODE_POOLS), follow_pools),
            OptionFuture::from(registration),
        );
    }
}

/// The name of the first watch in logs and metrics.
const DEFINITION: &str = "definition";

/// poolgate's behaviour while the definition is unread.
const UNREAD: &str = "NodePools are checked for the last known Karpenter release, or else the newest";
