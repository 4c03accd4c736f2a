//! The webhook configurations of poolgate's manifests, as far as they are read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::objects::Metadata;

/// Where mutating configurations are.
pub(crate) const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

/// Where validating configurations are.
pub(crate) const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// The configurations for reviews, each with its path.
pub(crate) const OF_REVIEWS: [(&str, &str); 2] = [(MUTATING, "poolgate"), (VALIDATING, "poolgate")];

/// The configurations for the gate.
pub(crate) const OF_THE_GATE: [(&str, &str); 2] = [
    (VALIDATING, "poolgate-gate"),
    (VALIDATING, "poolgate-gate-strict"),
];

/// A webhook configuration of either kind.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct WebhookConfiguration {
    #[serde(default)]
    pub(crate) metadata: Metadata,
    #[serde(default)]
    pub(crate) webhooks: Vec<Webhook>,
}

/// A webhook in it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Webhook {
    pub(crate) name: String,
    pub(crate) client_config: ClientConfig,
    #[serde(default)]
    pub(crate) rules: Vec<Rule>,
    #[serde(default)]
    pub(crate) failure_policy: String,
}

/// What it calls, and how.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClientConfig {
    ca_bundle: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) service: Option<Service>,
}

/// The Service that it calls.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Service {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) path: Option<String>,
}

/// What it is called for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Rule {
    pub(crate) api_groups: Vec<String>,
    pub(crate) api_versions: Vec<String>,
    pub(crate) resources: Vec<String>,
    pub(crate) operations: Vec<String>,
}

impl ClientConfig {
    /// What is in `caBundle`; none if that is not base64.
    pub(crate) fn ca_bundle(&self) -> Option<Vec<u8>> {
        STANDARD
            .decode(self.ca_bundle.as_deref().unwrap_or_default())
            .ok()
    }
}
