//! Reads and writes certificates in the API server. Each call has a deadline, and a write is rejected if the object
//! has changed since it was read.

use std::time::Duration;

use kube::Client;
use kube::api::{Patch, PatchParams};
use serde_json::Value;

use super::error::KeepError;
use super::objects::{AUTHORITY, LEAF, ReadObjects, Secret};
use crate::cluster::{ApiError, Collection, Deadline, webhooks};

/// How long a call may take.
const CALL: Duration = Duration::from_secs(10);

/// The field manager of these writes: the one of `certs/apply`, which does the same by hand.
pub const MANAGER: &str = "poolgate-certs";

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

    /// Reads everything, dependents before their dependencies.
    pub async fn read(&self) -> Result<ReadObjects, KeepError> {
        Ok(ReadObjects {
            configurations: webhooks::fetch(&self.client, webhooks::all(), CALL).await?,
            leaf: self.secret(LEAF).await?,
            authority: self.secret(AUTHORITY).await?,
        })
    }

    async fn secret(&self, name: &'static str) -> Result<Secret, KeepError> {
        let secrets = Collection::new(self.client.clone(), &self.secrets);
        let read = secrets.get_opt(name, Deadline::within(CALL)).await?;
        read.ok_or(KeepError::NoSecret(name))
    }

    /// Writes into a Secret.
    pub async fn write_secret(&self, name: &str, change: &Value) -> Result<(), ApiError> {
        self.patch(&self.secrets, name, &Patch::Merge(change)).await
    }

    /// Writes into a webhook configuration. The patch finds its webhooks by their names.
    pub async fn write_configuration(&self, path: &str, name: &str, change: &Value) -> Result<(), ApiError> {
        self.patch(path, name, &Patch::Strategic(change)).await
    }

    async fn patch(&self, path: &str, name: &str, change: &Patch<&Value>) -> Result<(), ApiError> {
        let collection = Collection::<serde::de::IgnoredAny>::new(self.client.clone(), path);
        let params = PatchParams {
            field_manager: Some(MANAGER.into()),
            ..PatchParams::default()
        };
        collection
            .patch(name, &params, change, Deadline::within(CALL))
            .await?;
        Ok(())
    }
}
