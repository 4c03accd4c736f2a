//! NodeClaims.

use std::num::NonZeroU64;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Taint as TaintObject;
use poolgate_core::budget::Reason;
use poolgate_core::drift::{DriftClaim, HASH_ANNOTATION, HASH_VERSION, HASH_VERSION_ANNOTATION};
use poolgate_core::nodelimit::plan::{self, Claim, Disruption};
use poolgate_core::nodelimit::why::Details;
use poolgate_core::value::duration::GoDuration;
use serde::Deserialize;

use super::node::taint;
use super::{Conditions, Interned, Key, Metadata, Object, PoolLabel, Texts, instant};

/// The fields of a NodeClaim that are read.
pub type ClaimObject = Object<Metadata<PoolLabel, Annotations>, Spec, Status>;

/// The annotations of a NodeClaim that are read.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Annotations {
    #[serde(rename = "karpenter.sh/nodeclaim-termination-timestamp")]
    terminated_at: Option<Box<str>>,
    #[serde(rename = "karpenter.sh/nodepool-hash")]
    hash: Option<Box<str>>,
    #[serde(rename = "karpenter.sh/nodepool-hash-version")]
    hash_version: Option<Box<str>>,
}

impl Annotations {
    /// Karpenter's hash of the template, if poolgate computes the same version.
    fn drift_hash(&self) -> Option<NonZeroU64> {
        let is_comparable = self.hash_version.as_deref() == Some(HASH_VERSION);
        self.hash.as_deref().filter(|_| is_comparable)?.parse().ok()
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
    expire_after: Option<String>,
    termination_grace_period: Option<String>,
    startup_taints: Option<Vec<TaintObject>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    #[serde(rename = "providerID")]
    provider_id: Option<Box<str>>,
    node_name: Option<Box<str>>,
    last_pod_event_time: Option<Box<str>>,
    conditions: Conditions,
}

/// The origin of a NodeClaim: the fields that drift depends on.
pub type Origin = Object<Metadata<Texts, Texts>, MadeFrom>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MadeFrom {
    pub node_class_ref: NodeClassRef,
}

/// Which node class a NodeClaim was made from.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(default)]
pub struct NodeClassRef {
    pub group: Box<str>,
    pub kind: Box<str>,
    pub name: Box<str>,
}

impl<S, T> Object<Metadata<Texts, Texts>, S, T> {
    /// The part of a NodeClaim that drift depends on.
    pub fn drift_claim(self) -> DriftClaim {
        let annotation = |key| self.metadata.annotation(key).map(Box::from);
        DriftClaim {
            hash: annotation(HASH_ANNOTATION),
            hash_version: annotation(HASH_VERSION_ANNOTATION),
            labels: self.metadata.labels.unwrap_or_default(),
            name: self.metadata.name,
            kept: None,
        }
    }

    /// The hash of a node class and its version, as the provider writes them on the class and on its NodeClaims.
    pub fn class_hash(&self, class: &NodeClassRef) -> Option<[&str; 2]> {
        let key = format!("{}/{}-hash", class.group, class.kind.to_ascii_lowercase());
        let hash = self.metadata.annotation(&key)?;
        Some([hash, self.metadata.annotation(&format!("{key}-version"))?])
    }
}

/// A NodeClaim as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenClaim {
    pub claim: Arc<Claim>,
    /// The name of its pool.
    pub pool: Arc<str>,
    /// Its machine; `None` if none was ordered.
    pub machine: Option<Key>,
}

impl ClaimObject {
    /// The kept part of the claim; `None` if it belongs to no pool.
    pub fn seen(self, names: &mut Interned<str>) -> Option<SeenClaim> {
        let pool = names.share(self.metadata.labels.pool.as_deref()?);
        let conditions = conditions(&self.status.conditions);
        let created = self.metadata.created().unwrap_or(Timestamp::UNIX_EPOCH);
        let deleted = self.metadata.deleted();
        let machine = Key::of_machine(self.status.provider_id.as_deref().unwrap_or_default());
        let claim = Claim {
            name: self.metadata.name.into(),
            uid: self.metadata.uid.into(),
            created,
            deleted,
            is_launched: machine.is_some(),
            expire_after: self.spec.expire_after.as_deref().and_then(finite),
            has_grace_period: self.spec.termination_grace_period.is_some(),
            has_deadline: self.metadata.annotations.terminated_at.is_some(),
            drift_hash: self.metadata.annotations.drift_hash(),
            conditions,
        };
        Some(SeenClaim {
            claim: Arc::new(claim),
            pool,
            machine,
        })
    }
}

impl ClaimObject {
    /// The part that only a report needs.
    pub fn details(&self) -> Details {
        let condition = |kind| self.status.conditions.told(kind);
        let taints = self.spec.startup_taints.iter().flatten();
        Details {
            node_name: self.status.node_name.clone(),
            last_pod_event: instant(self.status.last_pod_event_time.as_deref()),
            startup_taints: taints.cloned().filter_map(taint).collect(),
            deadline: instant(self.metadata.annotations.terminated_at.as_deref()),
            initialized: condition("Initialized"),
            drifted: condition("Drifted"),
            drained: condition("Drained"),
            volumes_detached: condition("VolumesDetached"),
        }
    }
}

fn conditions(conditions: &Conditions) -> plan::Conditions {
    plan::Conditions {
        initialized: conditions.is_true("Initialized"),
        drifted: conditions.is_true("Drifted"),
        consolidatable: conditions.is_true("Consolidatable"),
        instance_terminating: conditions.is_true("InstanceTerminating"),
        rebooting: conditions.is_true("Rebooting"),
        disruption: disruption(conditions),
    }
}

fn disruption(conditions: &Conditions) -> Option<Disruption> {
    let since = conditions.true_since("DisruptionReason")?;
    let is_repair = conditions.get("DisruptionReason")?.reason.as_ref() == Reason::Unhealthy.as_str();
    Some(Disruption { since, is_repair })
}

/// A length of time that is not `Never`.
fn finite(text: &str) -> Option<SignedDuration> {
    let nanos = GoDuration::parse(text).ok()?.as_nanos();
    Some(SignedDuration::from_nanos(nanos))
}
