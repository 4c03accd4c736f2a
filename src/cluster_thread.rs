//! The thread that watches the cluster, and does what `serve` and `gate` do beside that.

use std::sync::Arc;

use anyhow::Context as _;
use futures_util::future::OptionFuture;
use kube::{Client, Config};
use tokio_util::sync::CancellationToken;

use crate::admission::{ClusterView, Pools};
use crate::cluster::config::{ClusterArgs, ClusterConfigError, Found, find};
use crate::cluster::connect::client_for_watches;
use crate::cluster::definition::{self, DefinitionFollower};
use crate::cluster::objects::{DEFINITIONS, NODE_POOLS};
use crate::cluster::pools::PoolFollower;
use crate::cluster::stored_verdicts::StoredVerdicts;
use crate::cluster::watch::Watch;
use crate::cluster::{ClusterMetrics, Collection};
use crate::lifecycle::{Heartbeat, StatusBoard, StatusLine, on_own_thread};
use crate::policy_watch::PolicyInForce;
use crate::registration::Registration;

/// A cluster that is about to be watched.
#[derive(Debug)]
pub struct Cluster {
    view: Arc<ClusterView>,
    /// What stored NodePools are reviewed with, if they are.
    policy: Option<PolicyInForce>,
    metrics: ClusterMetrics,
    release_line: StatusLine,
    definition: Watch,
    pools: Watch,
    definition_read: CancellationToken,
    registration: Option<Registration>,
}

impl Cluster {
    /// Finds the cluster. `None` if there is none, which is logged once and is not an error.
    pub async fn find(
        args: &ClusterArgs,
        view: Arc<ClusterView>,
        policy: PolicyInForce,
        board: &StatusBoard,
        metrics: ClusterMetrics,
    ) -> Result<Option<(Self, Config)>, ClusterConfigError> {
        let release = view.karpenter().release();
        match find(args).await? {
            Found::Cluster(config) => Ok(Some((Self::new(view, Some(policy), board, metrics), *config))),
            Found::Unwanted => Ok(None),
            Found::Nowhere => {
                tracing::info!(%release, "no kubeconfig, and not in a pod: no cluster is watched");
                Ok(None)
            }
            Found::Unusable(error) => {
                tracing::warn!(%release, %error, "no cluster is watched; `kubectl scale` is not checked");
                Ok(None)
            }
        }
    }

    /// A cluster. No request is sent yet.
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

    /// Starts the thread for this cluster, which also does what `beside` returns. The returned future ends with the thread.
    pub fn watch<F: Future<Output = ()> + 'static>(
        self,
        config: Config,
        heartbeat: Heartbeat,
        beside: impl FnOnce(Client, Config, ClusterMetrics) -> F + Send + 'static,
    ) -> anyhow::Result<impl Future<Output = ()> + Send + 'static> {
        on_own_thread("cluster", heartbeat, || self.run(config, beside))
            .context("the thread that watches the cluster cannot be started")
    }

    async fn run<F: Future<Output = ()>>(
        self,
        config: Config,
        beside: impl FnOnce(Client, Config, ClusterMetrics) -> F,
    ) {
        let lines = [&self.definition, &self.pools].map(|watch| watch.line.clone());
        let client = client_for_watches(&config, &lines, UNREAD, || {
            self.metrics.watches.errors.inc(DEFINITION);
        })
        .await;
        let beside = beside(client.clone(), config.clone(), self.metrics.clone());
        tokio::join!(self.follow(client), beside);
    }

    /// Follows the cluster with this client.
    pub async fn follow(self, client: Client) {
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
        let verdicts = |policy| StoredVerdicts::new(Arc::clone(&self.view), policy, self.metrics.clone());
        let follow_pools = PoolFollower {
            verdicts: self.policy.map(verdicts),
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

/// What poolgate does while the definition is not read.
const UNREAD: &str =
    "NodePools are checked for the Karpenter release that was last known, or for the newest one";
