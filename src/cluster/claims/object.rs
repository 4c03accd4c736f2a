//! A NodeClaim as far as node limits look at it. Nothing else of it is decoded.

use std::borrow::Cow;

use kube::api::ObjectMeta;
use kube::core::ClusterResourceScope;
use kube::{Api, Client, Resource};
use poolgate_core::karpenter::{ApiVersion, GROUP};
use poolgate_core::nodelimit::ledger::{Claim, Uid};
use serde::{Deserialize, Deserializer};

/// The condition that Karpenter sets, together with its taint on the node, on a NodeClaim that it is disrupting
/// (`ConditionTypeDisruptionReason` of `sigs.k8s.io/karpenter/pkg/apis/v1`).
const DISRUPTION_REASON: &str = "DisruptionReason";

/// A NodeClaim.
#[derive(Debug, Clone)]
pub(crate) struct NodeClaim {
    /// Of the metadata, uid and resourceVersion.
    meta: ObjectMeta,
    pool: Option<Box<str>>,
    deleting: bool,
    disrupted: bool,
}

/// The NodeClaims of a cluster.
pub(crate) fn api(client: Client) -> Api<NodeClaim> {
    Api::all(client)
}

impl NodeClaim {
    /// The pool that it belongs to, its identity, and what counting needs of it; none for one of no pool.
    pub(super) fn into_parts(self) -> Option<(Box<str>, Uid, Claim)> {
        let uid = Uid::new(self.meta.uid.as_deref()?).ok()?;
        let claim = Claim {
            version: self.meta.resource_version?.parse().ok()?,
            deleting: self.deleting,
            disrupted: self.disrupted,
        };
        Some((self.pool?, uid, claim))
    }
}

/// The fields as they stand in the object.
#[derive(Deserialize)]
struct Fields {
    metadata: Metadata,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    uid: Option<String>,
    resource_version: Option<String>,
    deletion_timestamp: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    labels: Labels,
}

#[derive(Default, Deserialize)]
struct Labels {
    #[serde(rename = "karpenter.sh/nodepool")]
    pool: Option<Box<str>>,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: Box<str>,
    status: Box<str>,
}

impl Status {
    fn is_disrupted(&self) -> bool {
        self.conditions
            .iter()
            .any(|condition| &*condition.kind == DISRUPTION_REASON && &*condition.status == "True")
    }
}

impl<'de> Deserialize<'de> for NodeClaim {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Fields { metadata, status } = Fields::deserialize(deserializer)?;
        Ok(Self {
            meta: ObjectMeta {
                uid: metadata.uid,
                resource_version: metadata.resource_version,
                ..ObjectMeta::default()
            },
            pool: metadata.labels.pool,
            deleting: metadata.deletion_timestamp.is_some(),
            disrupted: status.is_disrupted(),
        })
    }
}

impl Resource for NodeClaim {
    type DynamicType = ();
    type Scope = ClusterResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "NodeClaim".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        GROUP.into()
    }

    fn version((): &()) -> Cow<'_, str> {
        ApiVersion::V1.as_str().into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "nodeclaims".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.meta
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(object: Value) -> Option<(Box<str>, Uid, Claim)> {
        let claim: NodeClaim = serde_json::from_value(object).expect("a claim of any shape");
        claim.into_parts()
    }

    #[test]
    fn what_counting_needs_is_read_and_nothing_else() {
        let object = json!({
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodeClaim",
            "metadata": {
                "name": "general-x7k2p",
                "uid": "u-1",
                "resourceVersion": "42",
                "labels": {"karpenter.sh/nodepool": "general", "team": "blue"},
                "deletionTimestamp": "2026-01-01T00:00:00Z",
                "managedFields": [{"manager": "karpenter"}],
            },
            "spec": {"requirements": []},
            "status": {"conditions": [
                {"type": "Ready", "status": "True"},
                {"type": "DisruptionReason", "status": "True", "reason": "Drifted"},
            ]},
        });
        let (pool, uid, claim) = read(object).expect("a claim of a pool");
        assert_eq!((&*pool, uid.as_str()), ("general", "u-1"));
        let expected = Claim {
            version: 42,
            deleting: true,
            disrupted: true,
        };
        assert_eq!(claim, expected);
    }

    #[test]
    fn a_disruption_that_was_called_off_counts_again_and_a_claim_of_no_pool_never() {
        let object = |labels: Value, status: &str| {
            json!({
                "metadata": {"uid": "u", "resourceVersion": "1", "labels": labels},
                "status": {"conditions": [{"type": "DisruptionReason", "status": status}]},
            })
        };
        let of_pool = json!({"karpenter.sh/nodepool": "general"});
        let (_, _, claim) = read(object(of_pool, "False")).expect("a claim of a pool");
        assert!(!claim.disrupted && !claim.deleting);
        assert_eq!(read(object(json!({}), "True")), None);
        assert_eq!(read(json!({"metadata": {}})), None);
    }
}
