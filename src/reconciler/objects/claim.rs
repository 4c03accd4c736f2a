//! NodeClaims.

use std::sync::Arc;

use jiff::Timestamp;
use poolgate_core::karpenter::NODEPOOL_LABEL;
use poolgate_core::nodelimit::plan::{Claim, Conditions};
use poolgate_core::value::duration::GoDuration;
use serde::Deserialize;

use super::Interned;
use super::meta::{Meta, instant};
use crate::cluster::Versioned;

/// The fields of a NodeClaim that are read.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ClaimObject {
    metadata: Meta,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    expire_after: Option<String>,
    termination_grace_period: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    #[serde(rename = "providerID")]
    provider_id: Option<String>,
    node_name: Option<String>,
    conditions: Option<Vec<Condition>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Condition {
    r#type: String,
    status: String,
    last_transition_time: Option<String>,
}

/// A NodeClaim as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenClaim {
    pub(crate) claim: Arc<Claim>,
    /// The name of its pool.
    pub(crate) pool: Arc<str>,
    /// What names its machine; empty where none was ordered.
    pub(crate) provider_id: Box<str>,
}

impl Versioned for ClaimObject {
    fn version(&self) -> Option<&str> {
        self.metadata.resource_version.as_deref()
    }
}

impl ClaimObject {
    pub(crate) fn uid(&self) -> &str {
        &self.metadata.uid
    }

    /// What is kept of it; none where it belongs to no pool.
    pub(crate) fn seen(self, names: &mut Interned<str>) -> Option<SeenClaim> {
        let pool = names.share(self.metadata.label(NODEPOOL_LABEL)?);
        let conditions = self.conditions();
        let created = self.metadata.created().unwrap_or(Timestamp::UNIX_EPOCH);
        let deleted = self.metadata.deleted();
        let provider_id = self.status.provider_id.unwrap_or_default();
        let claim = Claim {
            name: self.metadata.name.into(),
            uid: self.metadata.uid.into(),
            created,
            deleted,
            is_launched: !provider_id.is_empty(),
            node_name: self
                .status
                .node_name
                .filter(|name| !name.is_empty())
                .map(Arc::from),
            expire_after: self.spec.expire_after.as_deref().and_then(finite),
            has_grace_period: self.spec.termination_grace_period.is_some(),
            conditions,
        };
        Some(SeenClaim {
            claim: Arc::new(claim),
            pool,
            provider_id: provider_id.into(),
        })
    }

    fn conditions(&self) -> Conditions {
        let condition = |name: &str| {
            let mut all = self.status.conditions.iter().flatten();
            all.find(|condition| condition.r#type == name && condition.status == "True")
        };
        Conditions {
            initialized: condition("Initialized").is_some(),
            drifted: condition("Drifted").is_some(),
            consolidatable: condition("Consolidatable").is_some(),
            instance_terminating: condition("InstanceTerminating").is_some(),
            disrupted_since: condition("DisruptionReason")
                .and_then(|condition| instant(condition.last_transition_time.as_deref())),
        }
    }
}

/// A length of time that is not `Never`.
fn finite(text: &str) -> Option<jiff::SignedDuration> {
    let nanos = GoDuration::parse(text).ok()?.as_nanos();
    Some(jiff::SignedDuration::from_nanos(nanos))
}
