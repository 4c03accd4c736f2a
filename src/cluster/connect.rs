//! The cluster of a command that can do nothing without one.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use kube::{Client, Config};
use tokio::time::{sleep, timeout};

use super::config::{ClusterArgs, ClusterConfigError, Found, UnusableConfig, find};

/// How long a client may take to be made: a kubeconfig may run a program for its credentials.
const CREDENTIALS: Duration = Duration::from_mins(1);

/// How long to wait before a client is tried again.
const RETRY: Duration = Duration::from_secs(10);

/// Why there is no cluster.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    /// The one that the user names cannot be found.
    #[error(transparent)]
    Config(#[from] ClusterConfigError),
    /// None is there.
    #[error("there is no cluster: no kubeconfig and no pod around this process; give --kubeconfig FILE")]
    Nowhere,
    /// The user wants none.
    #[error("--no-cluster leaves nothing to do: leave it out")]
    Unwanted,
    /// The one that was found cannot be used.
    #[error("the cluster cannot be used: {0}")]
    Unusable(UnusableConfig),
}

/// A cluster that was found.
#[derive(Debug)]
pub(crate) struct Connector {
    config: Config,
    namespace: String,
}

impl Connector {
    /// Finds the cluster. Nobody is asked yet.
    pub(crate) async fn find(args: &ClusterArgs) -> Result<Self, ConnectError> {
        match find(args).await? {
            Found::Cluster(config) => Ok(Self {
                namespace: config.default_namespace.clone(),
                config: *config,
            }),
            Found::Unwanted => Err(ConnectError::Unwanted),
            Found::Nowhere => Err(ConnectError::Nowhere),
            Found::Unusable(error) => Err(ConnectError::Unusable(error)),
        }
    }

    /// Where leases and ledgers lie.
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// How the cluster is reached.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Makes a client: that may run a program for its credentials, and fail.
    pub(crate) async fn client(&self) -> Result<Client, String> {
        client(self.config.clone()).await
    }
}

/// Makes a client for the watches that write to these lines of `/readyz`, however often that fails; each time `failed`
/// is called.
pub(crate) async fn client_for_watches(
    config: &Config,
    lines: &[Arc<ArcSwap<String>>],
    meanwhile: &'static str,
    failed: impl Fn(),
) -> Client {
    let mut before = String::new();
    loop {
        let error = match client(config.clone()).await {
            Ok(client) => return client,
            Err(error) => error,
        };
        failed();
        if error != before {
            tracing::warn!(%error, meanwhile, "no client for the cluster");
            for line in lines {
                line.store(Arc::new(format!("not watching: {error}")));
            }
            before = error;
        }
        sleep(RETRY).await;
    }
}

/// Makes a client. That may run a program, so it has a thread that can be given up.
async fn client(config: Config) -> Result<Client, String> {
    let made = tokio::task::spawn_blocking(move || Client::try_from(config));
    match timeout(CREDENTIALS, made).await {
        Ok(Ok(made)) => made.map_err(|error| error.to_string()),
        Ok(Err(failed)) => Err(failed.to_string()),
        Err(_) => Err(format!("no credentials within {} s", CREDENTIALS.as_secs())),
    }
}
