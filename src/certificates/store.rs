//! Reads and writes certificates in the API server. Each call has a deadline, and a write is rejected if the object
//! has changed since it was read.

use std::time::Duration;

use kube::Client;
use kube::api::{Patch, PatchParams};
use serde_json::Value;
use tokio::time::timeout;

use super::objects::{AUTHORITY, LEAF, Read, Secret};
use crate::cluster::webhooks::{OF_REVIEWS, OF_THE_GATE, WebhookConfiguration};
use crate::cluster::{Collection, described};

/// How long a call may take.
const CALL: Duration = Duration::from_secs(10);

/// The field manager of these writes: the one of `certs/apply`, which does the same by hand.
const MANAGER: &str = "poolgate-certs";

const CONFLICT: u16 = 409;

/// Why something was not read or not written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It has changed since it was read: read it again.
    #[error("another writer was faster")]
    Conflict,
    /// The Secret does not exist.
    #[error("there is no Secret {name}: poolgate may fill it, but not create it; apply the manifests again")]
    NoSecret {
        /// Which one.
        name: &'static str,
    },
    /// The API server refused the call, or it failed.
    #[error("{what}: {}", described(.error))]
    Client {
        /// What was called.
        what: String,
        /// Why.
        error: kube::Error,
    },
    /// The API server did not answer. The write may have happened.
    #[error("{what}: no answer from the API server within {} s", CALL.as_secs())]
    NoAnswer {
        /// What was called.
        what: String,
    },
}

/// Where everything is stored.
pub struct Store {
    client: Client,
    secrets: String,
}

impl Store {
    /// The Secrets in `namespace`.
    pub fn new(client: Client, namespace: &str) -> Self {
        Self {
            client,
            secrets: format!("/api/v1/namespaces/{namespace}/secrets"),
        }
    }

    /// Reads everything. What depends on something is read before it.
    pub async fn read(&self) -> Result<Read, StoreError> {
        let mut configurations = Vec::new();
        for (path, name) in OF_REVIEWS.into_iter().chain(OF_THE_GATE) {
            let collection = Collection::<WebhookConfiguration>::new(self.client.clone(), path);
            let read = call(path, name, collection.get_opt(name)).await?;
            configurations.extend(read.map(|configuration| (path, configuration)));
        }
        Ok(Read {
            configurations,
            leaf: self.secret(LEAF).await?,
            authority: self.secret(AUTHORITY).await?,
        })
    }

    async fn secret(&self, name: &'static str) -> Result<Secret, StoreError> {
        let secrets = Collection::new(self.client.clone(), &self.secrets);
        let read = call(&self.secrets, name, secrets.get_opt(name)).await?;
        read.ok_or(StoreError::NoSecret { name })
    }

    /// Writes into a Secret.
    pub async fn write_secret(&self, name: &str, change: &Value) -> Result<(), StoreError> {
        self.patch(&self.secrets, name, &Patch::Merge(change)).await
    }

    /// Writes into a webhook configuration. The patch finds its webhooks by their names.
    pub async fn write_configuration(
        &self,
        path: &str,
        name: &str,
        change: &Value,
    ) -> Result<(), StoreError> {
        self.patch(path, name, &Patch::Strategic(change)).await
    }

    async fn patch(&self, path: &str, name: &str, change: &Patch<&Value>) -> Result<(), StoreError> {
        let collection = Collection::<serde::de::IgnoredAny>::new(self.client.clone(), path);
        let params = PatchParams {
            field_manager: Some(MANAGER.into()),
            ..PatchParams::default()
        };
        call(path, name, collection.patch(name, &params, change)).await?;
        Ok(())
    }
}

async fn call<T>(
    path: &str,
    name: &str,
    call: impl Future<Output = kube::Result<T>>,
) -> Result<T, StoreError> {
    let kind = path.rsplit('/').next().unwrap_or_default();
    let what = || format!("{kind} {name}");
    match timeout(CALL, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) if status.code == CONFLICT => Err(StoreError::Conflict),
        Ok(Err(error)) => Err(StoreError::Client { what: what(), error }),
        Err(_) => Err(StoreError::NoAnswer { what: what() }),
    }
}
