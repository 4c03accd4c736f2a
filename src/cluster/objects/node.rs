//! Nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Taint as TaintObject;
use poolgate_core::facts::NODEPOOL_LABEL;
use poolgate_core::nodelimit::plan::{Condition, Marks, Node};
use poolgate_core::pods::{Effect, NodeTaint, Resources};
use poolgate_core::value::quantity::Quantity;
use serde::Deserialize;

use super::{Conditions, Interned, Key, Metadata, Object, Texts};

/// The fields of a Node that are read.
pub type NodeObject = Object<Metadata<Texts, Texts>, Spec, Status>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
    #[serde(rename = "providerID")]
    provider_id: String,
    unschedulable: bool,
    taints: Option<Vec<TaintObject>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Status {
    allocatable: Option<BTreeMap<String, String>>,
    conditions: Conditions,
}

/// A node as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenNode {
    pub node: Arc<Node>,
    /// The name of its pool.
    pub pool: Arc<str>,
    /// Its machine; `None` if it has none yet.
    pub machine: Option<Key>,
}

/// Values that nodes share: there are only a few kinds of machines.
#[derive(Debug, Default)]
pub struct NodeKinds {
    names: Interned<str>,
    labels: Interned<BTreeMap<String, String>>,
    taints: Interned<[NodeTaint]>,
    allocatable: Interned<Resources>,
}

impl NodeObject {
    /// Its condition `Ready`.
    pub fn ready(&self) -> Option<Condition> {
        self.status.conditions.told("Ready")
    }

    /// The kept part of the node, with only the labels in `selected`. `None` if it belongs to no pool.
    pub fn seen(self, kinds: &mut NodeKinds, selected: &BTreeSet<Box<str>>) -> Option<SeenNode> {
        let pool = kinds.names.share(self.metadata.label(NODEPOOL_LABEL)?);
        let marks = Marks::from_lookups(
            |key| self.metadata.label(key),
            |key| self.metadata.annotation(key),
        );
        let labels = self.metadata.labels.iter().flatten();
        let labels: BTreeMap<_, _> = labels
            .filter(|(key, _)| selected.contains(key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let taints: Vec<_> = self.spec.taints.into_iter().flatten().filter_map(taint).collect();
        let allocatable: Resources = self
            .status
            .allocatable
            .iter()
            .flatten()
            .filter_map(|(name, amount)| {
                let amount = Quantity::parse(amount).ok()?.thousandths_rounded_down();
                Some((kinds.names.share(name.as_str()), amount))
            })
            .collect();
        let node = Node {
            uid: self.metadata.uid.as_ref().into(),
            labels: kinds.labels.share(labels),
            taints: kinds.taints.share(taints),
            is_cordoned: self.spec.unschedulable,
            is_ready: self.status.conditions.is_true("Ready"),
            allocatable: kinds.allocatable.share(allocatable),
            marks,
            conditions: hash(&self.status.conditions),
            name: self.metadata.name.into(),
        };
        Some(SeenNode {
            node: Arc::new(node),
            pool,
            machine: Key::of_machine(&self.spec.provider_id),
        })
    }
}

fn hash(conditions: &Conditions) -> u64 {
    let mut hasher = DefaultHasher::new();
    conditions.hash(&mut hasher);
    hasher.finish()
}

/// A taint, if its effect is known.
pub fn taint(taint: TaintObject) -> Option<NodeTaint> {
    Some(NodeTaint {
        key: taint.key,
        value: taint.value.unwrap_or_default(),
        effect: Effect::parse(&taint.effect)?,
    })
}
