//! Objects of the cluster as the API server sends them: the fields that are read, and what core's plan makes of each. Fields
//! of a type that the API server would not store count as missing; [`IgnoredAny`] skips a value.

mod claim;
mod deployment;
mod interned;
mod key;
mod node;
mod pod;
mod pod_disruption_budget;

use std::collections::BTreeMap;

use jiff::Timestamp;
use poolgate_core::api::NODE_LIMIT_ANNOTATION;
use poolgate_core::nodelimit::plan;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::managed_fields::ManagedFields;
pub use claim::{ClaimObject, NodeClassRef, Origin, SeenClaim};
pub use deployment::{DeploymentObject, Started};
pub use interned::Interned;
pub use key::Key;
pub use node::{NodeKinds, NodeObject, SeenNode};
pub use pod::{PodKinds, PodLocation, PodObject};
pub use pod_disruption_budget::BudgetObject;

/// The path of definitions.
pub const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// The path of NodePools. Static ones exist only in v1.
pub const NODE_POOLS: &str = "/apis/karpenter.sh/v1/nodepools";

/// The path of NodeClaims.
pub const NODE_CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";

/// The path of nodes.
pub const NODES: &str = "/api/v1/nodes";

/// The path of events.
pub const EVENTS: &str = "/api/v1/events";

/// The path of PodDisruptionBudgets.
pub const POD_DISRUPTION_BUDGETS: &str = "/apis/policy/v1/poddisruptionbudgets";

/// The path of pods.
pub const PODS: &str = "/api/v1/pods";

/// An object.
#[derive(Debug, Clone, Deserialize)]
pub struct Object<M, S = IgnoredAny, T = IgnoredAny> {
    #[serde(default)]
    pub metadata: M,
    #[serde(default)]
    pub spec: S,
    #[serde(default)]
    pub status: T,
}

/// A NodeClaim.
pub type NodeClaim<S = IgnoredAny, T = IgnoredAny> = Object<Metadata<PoolLabel>, S, T>;

/// A NodePool. Users write annotations and most fields, so that they may be of any type.
pub type NodePool<S, T = IgnoredAny, M = IgnoredAny> = Object<Metadata<IgnoredAny, Value, M>, S, T>;

/// The field manager by which poolgate owns the limits that NodePools leave to it.
pub const LIMIT_MANAGER: &str = "poolgate-node-limit";

/// A NodePool of any shape.
pub type PoolObject = NodePool<Value, PoolStatus, ManagedFields>;

/// The status of a NodePool, which Karpenter writes.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct PoolStatus {
    pub conditions: Conditions,
    /// The sum of its nodes.
    pub resources: Value,
}

/// The definition of a custom resource.
pub type Definition<S = IgnoredAny> = Object<Metadata, S>;

/// All labels or annotations.
pub type Texts = Option<BTreeMap<String, String>>;

/// The metadata of an object, with labels, annotations and field managers as far as they are read.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata<L = IgnoredAny, A = IgnoredAny, M = IgnoredAny> {
    pub namespace: Box<str>,
    pub name: Box<str>,
    pub uid: Box<str>,
    pub resource_version: Option<Box<str>>,
    pub generation: Option<i64>,
    pub creation_timestamp: Option<Box<str>>,
    pub deletion_timestamp: Option<Box<str>>,
    pub labels: L,
    pub annotations: A,
    pub managed_fields: M,
    owner_references: Option<Vec<Owner>>,
}

/// The label that names the pool.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct PoolLabel {
    #[serde(rename = "karpenter.sh/nodepool")]
    pub pool: Option<Box<str>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Owner {
    api_version: Box<str>,
    kind: Box<str>,
    controller: Option<bool>,
}

impl<L, A, M> Metadata<L, A, M> {
    /// The resourceVersion, if it is a number.
    pub fn version_number(&self) -> Option<u64> {
        self.resource_version.as_ref()?.parse().ok()
    }

    pub fn created(&self) -> Option<Timestamp> {
        instant(self.creation_timestamp.as_deref())
    }

    /// Since when it is being deleted.
    pub fn deleted(&self) -> Option<Timestamp> {
        instant(self.deletion_timestamp.as_deref())
    }

    /// Whether it belongs to an object of this kind in the group `apps`.
    pub fn is_owned_by(&self, kind: &str) -> bool {
        let mut owners = self.owner_references.iter().flatten();
        owners.any(|owner| &*owner.kind == kind && owner.api_version.starts_with("apps/"))
    }

    /// Whether a controller replaces it when it is deleted.
    pub fn is_controlled(&self) -> bool {
        let mut owners = self.owner_references.iter().flatten();
        owners.any(|owner| owner.controller == Some(true))
    }
}

impl<A> Metadata<Texts, A> {
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.as_ref()?.get(key).map(String::as_str)
    }
}

impl<L, M> Metadata<L, Texts, M> {
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.as_ref()?.get(key).map(String::as_str)
    }
}

impl PoolObject {
    /// The part of the object that core's plan needs, and reads again under every new policy.
    pub fn kept(&self) -> Value {
        let meta = &self.metadata;
        // If it is null, the pool is not being deleted.
        let writers = meta.managed_fields.writers(NODE_LIMIT_ANNOTATION);
        let owned = writers
            .contains(LIMIT_MANAGER)
            .then(|| json!([{"manager": LIMIT_MANAGER}]));
        let metadata = json!({
            "name": meta.name,
            "uid": meta.uid,
            "annotations": meta.annotations,
            "managedFields": owned,
            "deletionTimestamp": meta.deletion_timestamp,
        });
        let conditions: Vec<_> = ["Ready", "NodeClassReady"]
            .iter()
            .filter_map(|kind| self.status.conditions.get(kind))
            .collect();
        json!({"metadata": metadata, "spec": self.spec, "status": {"conditions": conditions}})
    }

    /// The same, with the sum of its nodes.
    pub fn with_usage(&self) -> Value {
        let mut kept = self.kept();
        if let Some(status) = kept.get_mut("status").and_then(Value::as_object_mut) {
            status.insert("resources".to_owned(), self.status.resources.clone());
        }
        kept
    }
}

/// A condition of an object's status.
#[derive(Debug, Clone, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    r#type: Box<str>,
    pub status: Box<str>,
    pub reason: Box<str>,
    last_transition_time: Option<Box<str>>,
}

/// The conditions of an object. Their hash does not depend on heartbeats and messages.
#[derive(Debug, Clone, Default, Hash, Deserialize)]
pub struct Conditions(Option<Vec<Condition>>);

impl Conditions {
    /// The condition of this type.
    pub fn get(&self, kind: &str) -> Option<&Condition> {
        self.0
            .iter()
            .flatten()
            .find(|condition| &*condition.r#type == kind)
    }

    /// The condition of this type, as a report tells it.
    pub fn told(&self, kind: &str) -> Option<plan::Condition> {
        let condition = self.get(kind)?;
        Some(plan::Condition {
            status: condition.status.clone(),
            reason: condition.reason.clone(),
            since: instant(condition.last_transition_time.as_deref()),
        })
    }

    /// Whether the condition of this type is true.
    pub fn is_true(&self, kind: &str) -> bool {
        self.get(kind)
            .is_some_and(|condition| &*condition.status == "True")
    }

    /// Since when it is true.
    pub fn true_since(&self, kind: &str) -> Option<Timestamp> {
        let condition = self.get(kind).filter(|_| self.is_true(kind))?;
        instant(condition.last_transition_time.as_deref())
    }
}

/// Reads an instant as the API server writes it.
pub fn instant(text: Option<&str>) -> Option<Timestamp> {
    text?.parse().ok()
}
