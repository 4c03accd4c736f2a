//! The webhook configurations of poolgate's manifests, as far as they are read.

use std::collections::BTreeSet;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use poolgate_core::api::FAILURE_POLICY_ANNOTATION;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::api::{ApiError, Deadline};
use super::collection::Collection;
use super::managed_fields::ManagedFields;
use super::objects::{Metadata, Texts};

/// Where mutating configurations are.
pub const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

/// Where validating configurations are.
pub const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// The configurations for reviews, each with its path.
pub const OF_REVIEWS: &[(&str, &str)] = &[
    (MUTATING, "poolgate"),
    (VALIDATING, "poolgate"),
    (VALIDATING, "poolgate-deletion"),
];

/// The configurations for the gate.
pub const OF_THE_GATE: &[(&str, &str)] = &[(VALIDATING, "poolgate-gate")];

/// The configurations for reviews and for the gate.
pub fn all() -> Vec<(&'static str, &'static str)> {
    [OF_REVIEWS, OF_THE_GATE].concat()
}

/// Reads those of these configurations that exist, each with its path. The API server has `limit` for each of them.
pub async fn fetch(
    client: &Client,
    names: Vec<(&'static str, &'static str)>,
    limit: Duration,
) -> Result<Vec<(&'static str, WebhookConfiguration)>, ApiError> {
    let mut configurations = Vec::new();
    for (path, name) in names {
        let collection = Collection::<WebhookConfiguration>::new(client.clone(), path);
        let read = collection.get_opt(name, Deadline::within(limit)).await?;
        configurations.extend(read.map(|configuration| (path, configuration.with_metadata())));
    }
    Ok(configurations)
}

/// A webhook configuration of either kind.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct WebhookConfiguration {
    #[serde(default)]
    pub metadata: Metadata<IgnoredAny, Texts, ManagedFields>,
    #[serde(default)]
    pub webhooks: Vec<Webhook>,
}

impl WebhookConfiguration {
    /// The managers that wrote `caBundle` last.
    pub fn ca_bundle_writers(&self) -> BTreeSet<&str> {
        self.metadata.managed_fields.writers("caBundle")
    }

    /// Tells each webhook what the metadata of all say.
    fn with_metadata(mut self) -> Self {
        let writers: Vec<&str> = self.ca_bundle_writers().into_iter().collect();
        let writers = writers.join(", ");
        let is_to_fail_closed = self.metadata.annotation(FAILURE_POLICY_ANNOTATION) == Some("Fail");
        for webhook in &mut self.webhooks {
            webhook.client_config.written_by.clone_from(&writers);
            webhook.is_to_fail_closed = is_to_fail_closed;
        }
        self
    }
}

/// A webhook in it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    pub name: String,
    pub client_config: ClientConfig,
    #[serde(default)]
    pub rules: Vec<Rule>,
    #[serde(default)]
    pub failure_policy: String,
    /// Whether it was installed to fail closed.
    #[serde(skip)]
    pub is_to_fail_closed: bool,
}

/// The target of its calls.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientConfig {
    ca_bundle: Option<String>,
    /// The field managers that wrote it last; empty if that is not known.
    #[serde(skip)]
    pub written_by: String,
    pub url: Option<String>,
    pub service: Option<Service>,
}

/// The Service that it calls.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Service {
    pub name: String,
    pub namespace: String,
    pub path: Option<String>,
}

/// The objects and operations that it is called for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rule {
    pub api_groups: Vec<String>,
    pub api_versions: Vec<String>,
    pub resources: Vec<String>,
    pub operations: Vec<String>,
}

impl ClientConfig {
    /// The content of `caBundle`; none if that is not base64.
    pub fn ca_bundle(&self) -> Option<Vec<u8>> {
        STANDARD
            .decode(self.ca_bundle.as_deref().unwrap_or_default())
            .ok()
    }
}
