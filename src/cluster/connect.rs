//! The cluster of a command that needs one.

use std::time::Duration;

use anyhow::bail;
use kube::{Client, Config};
use tokio::time::timeout;

use super::config::{ClusterArgs, Found, find};
use super::reconnect::reconnecting;

/// How long making a client may take: a kubeconfig may run a program for its credentials.
const CREDENTIALS: Duration = Duration::from_mins(1);

/// Finds the cluster. No request is sent yet.
pub async fn required_cluster(args: &ClusterArgs) -> anyhow::Result<Config> {
    match find(args).await? {
        Found::Cluster(config) => Ok(*config),
        Found::Nowhere => bail!(
            "no cluster found: there is no kubeconfig, and this process does not run in a pod. Set --kubeconfig FILE"
        ),
        Found::Unusable(error) => bail!("the cluster cannot be used: {error}"),
    }
}

/// The client of a process that keeps running. No request is sent yet. If creating the client fails, calls report it.
pub fn lasting_client(config: Config) -> Client {
    let namespace = config.default_namespace.clone();
    reconnecting(&namespace, move || client(config.clone()))
}

/// Makes a client. That may run a program, so it has a thread that can be abandoned.
#[expect(clippy::disallowed_methods, reason = "a simulation brings its own clients")]
pub async fn client(config: Config) -> Result<Client, String> {
    let made = tokio::task::spawn_blocking(move || Client::try_from(config));
    match timeout(CREDENTIALS, made).await {
        Ok(Ok(made)) => made.map_err(|error| error.to_string()),
        Ok(Err(failed)) => Err(failed.to_string()),
        Err(_) => Err(format!("no credentials within {} s", CREDENTIALS.as_secs())),
    }
}
