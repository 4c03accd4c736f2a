//! The stored objects: two Secrets and the webhook configurations, as far as they are read.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::anyhow;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::SanType;
use rustls::pki_types::ServerName;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::decide::{Bundle, Certificate, Lasting, StoredCertificates};
use crate::cluster::managed_fields::ManagedFields;
use crate::cluster::objects::Metadata;
use crate::cluster::webhooks::{Webhook, WebhookConfiguration};
use crate::serving::certs::{
    Authority, AuthorityError, Issued, Pair, PairError, read_certificates, verify, write_certificates,
};

/// The Secret with the CA's key.
pub const AUTHORITY: &str = "poolgate-certificates";

/// The Secret that servers read.
pub const LEAF: &str = "poolgate-tls";

/// The key of a CA in its Secret.
const AUTHORITY_CERTIFICATE: &str = "ca.crt";
const AUTHORITY_KEY: &str = "ca.key";
const PREVIOUS: &str = "previous.crt";

/// The key of a leaf in its Secret.
const LEAF_CERTIFICATE: &str = "tls.crt";
const LEAF_KEY: &str = "tls.key";

/// The Services that API servers call.
const SERVICES: [&str; 2] = ["poolgate", "poolgate-gate"];

/// A Secret.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Secret {
    #[serde(default)]
    pub metadata: Metadata<IgnoredAny, IgnoredAny, ManagedFields>,
    #[serde(default)]
    data: Option<BTreeMap<String, String>>,
}

/// The names of a leaf, as they are signed and as they are checked.
pub struct Names {
    pub signed: Vec<SanType>,
    checked: Vec<ServerName<'static>>,
}

impl Names {
    /// The names of the Services in `namespace`, and these.
    pub fn new(namespace: &str, more: &[String]) -> anyhow::Result<Self> {
        let services = SERVICES.map(|service| format!("{service}.{namespace}.svc"));
        let mut names = Self {
            signed: Vec::new(),
            checked: Vec::new(),
        };
        for name in services.iter().chain(more) {
            let bad = || anyhow!("{name:?} is neither a DNS name nor an IP address");
            names.signed.push(match name.parse() {
                Ok(address) => SanType::IpAddress(address),
                Err(_) => SanType::DnsName(name.as_str().try_into().map_err(|_| bad())?),
            });
            let checked = ServerName::try_from(name.clone()).map_err(|_| bad())?;
            names.checked.push(checked);
        }
        Ok(names)
    }
}

/// The objects, in the order of the reads.
pub struct ReadObjects {
    pub configurations: Vec<(&'static str, WebhookConfiguration)>,
    pub leaf: Secret,
    pub authority: Secret,
}

/// The meaning of the stored objects.
pub struct Meaning {
    pub seen: StoredCertificates,
    /// The CA that signs.
    pub authority: Result<Authority, AuthorityError>,
    /// Why the leaf must be replaced.
    pub leaf_fault: Option<LeafFault>,
}

/// Why a leaf must be replaced.
#[derive(Debug, thiserror::Error)]
pub enum LeafFault {
    #[error("there was no serving certificate")]
    Missing,
    #[error("{0}")]
    Unusable(PairError),
    #[error("the CA did not sign the certificate, or the certificate lacks a name: {0}")]
    Foreign(rustls::Error),
}

impl ReadObjects {
    /// Interprets what was read.
    pub fn interpret(&self, names: &Names) -> Meaning {
        let webhooks = self
            .configurations
            .iter()
            .flat_map(|(_, configuration)| &configuration.webhooks);
        let authority = self.authority.authority();
        let signer = authority.as_ref().ok();
        let leaf = signer.map(|authority| self.leaf.leaf(authority, names));
        let (leaf, leaf_fault) = match leaf.transpose() {
            Ok(leaf) => (leaf, None),
            Err(fault) => (None, Some(fault)),
        };
        let leaf_is_known = leaf.is_some();
        let seen = StoredCertificates {
            bundles: webhooks.map(bundle).collect(),
            leaf,
            previous: self.previous(signer, leaf_is_known),
            authority: signer.map(|authority| {
                let (not_before, not_after) = authority.validity();
                Lasting {
                    certificate: authority.certificate().clone(),
                    not_before,
                    not_after,
                }
            }),
        };
        Meaning {
            seen,
            authority,
            leaf_fault,
        }
    }

    /// The CAs before this one: those stored as such, one whose key cannot be used, and the signer of a leaf that
    /// this CA did not sign.
    fn previous(&self, authority: Option<&Authority>, leaf_is_known: bool) -> Vec<Certificate> {
        let own = authority.map(Authority::certificate);
        let of_leaf = (!leaf_is_known).then(|| self.leaf.get(AUTHORITY_CERTIFICATE));
        let stored = [AUTHORITY_CERTIFICATE, PREVIOUS].map(|key| self.authority.get(key));
        let mut previous = Vec::new();
        for pem in stored.into_iter().chain(of_leaf) {
            let (certificates, _) = read_certificates(&pem);
            for certificate in certificates {
                if Some(&certificate) != own && !previous.contains(&certificate) {
                    previous.push(certificate);
                }
            }
        }
        previous
    }
}

impl Secret {
    /// The value of a key; empty if it is not base64.
    fn get(&self, key: &str) -> Vec<u8> {
        let text = self.data.as_ref().and_then(|data| data.get(key));
        text.and_then(|text| STANDARD.decode(text).ok())
            .unwrap_or_default()
    }

    /// The managers that wrote its data last.
    pub fn writers(&self) -> BTreeSet<&str> {
        self.metadata.managed_fields.writers("data")
    }

    fn authority(&self) -> Result<Authority, AuthorityError> {
        Authority::from_pem(&self.get(AUTHORITY_CERTIFICATE), &self.get(AUTHORITY_KEY))
    }

    fn leaf(&self, authority: &Authority, names: &Names) -> Result<Lasting, LeafFault> {
        let [chain, key] = [LEAF_CERTIFICATE, LEAF_KEY].map(|key| self.get(key));
        if chain.is_empty() || key.is_empty() {
            return Err(LeafFault::Missing);
        }
        let leaf = Pair::from_pem(&chain, &key).map_err(LeafFault::Unusable)?;
        // At the leaf's last second, when the CA is valid too: this needs no clock.
        let authorities = std::slice::from_ref(authority.certificate());
        verify(&leaf.key.cert, authorities, &names.checked, leaf.not_after).map_err(LeafFault::Foreign)?;
        let certificate = leaf.key.cert.first().ok_or(LeafFault::Missing)?;
        Ok(Lasting {
            certificate: certificate.clone(),
            not_before: leaf.not_before,
            not_after: leaf.not_after,
        })
    }

    /// The patch that stores a CA in place of what was read, with these before it.
    pub fn with_authority(&self, authority: &Authority, previous: &[Certificate]) -> Value {
        self.with_data(&json!({
            AUTHORITY_CERTIFICATE: STANDARD.encode(authority.pem()),
            AUTHORITY_KEY: STANDARD.encode(authority.key_pem()),
            PREVIOUS: (!previous.is_empty()).then(|| STANDARD.encode(write_certificates(previous))),
        }))
    }

    /// The patch that leaves no CA before this one.
    pub fn without_previous(&self) -> Value {
        self.with_data(&json!({PREVIOUS: null}))
    }

    /// The patch that stores a leaf in place of what was read.
    pub fn with_leaf(&self, issued: &Issued, authority: &Authority) -> Value {
        self.with_data(&json!({
            LEAF_CERTIFICATE: STANDARD.encode(write_certificates([&issued.certificate])),
            LEAF_KEY: STANDARD.encode(issued.key.serialize_pem()),
            AUTHORITY_CERTIFICATE: STANDARD.encode(authority.pem()),
        }))
    }

    fn with_data(&self, data: &Value) -> Value {
        json!({"metadata": {"resourceVersion": self.metadata.resource_version}, "data": data})
    }
}

/// The patch that makes every webhook of a configuration trust exactly these; `None` if all do.
pub fn trusting(configuration: &WebhookConfiguration, certificates: &[Certificate]) -> Option<Value> {
    let webhooks = &configuration.webhooks;
    if webhooks.iter().all(|webhook| bundle(webhook).is(certificates)) {
        return None;
    }
    let bundle = STANDARD.encode(write_certificates(certificates));
    let webhooks: Vec<Value> = webhooks
        .iter()
        .map(|webhook| json!({"name": webhook.name, "clientConfig": {"caBundle": bundle}}))
        .collect();
    Some(json!({
        "metadata": {"resourceVersion": configuration.metadata.resource_version},
        "webhooks": webhooks,
    }))
}

fn bundle(webhook: &Webhook) -> Bundle {
    let pem = webhook.client_config.ca_bundle();
    let (certificates, is_clean) = read_certificates(pem.as_deref().unwrap_or_default());
    Bundle {
        certificates,
        is_clean: is_clean && pem.is_some(),
    }
}

#[cfg(test)]
mod tests;
