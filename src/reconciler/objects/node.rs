//! Nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use poolgate_core::karpenter::NODEPOOL_LABEL;
use poolgate_core::nodelimit::plan::{Effect, Marks, Node, Resources, Taint};
use poolgate_core::value::quantity::Quantity;
use serde::Deserialize;

use super::Interned;
use super::meta::Meta;
use crate::cluster::Versioned;

/// The fields of a Node that are read.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct NodeObject {
    metadata: Meta,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    #[serde(rename = "providerID")]
    provider_id: String,
    unschedulable: bool,
    taints: Option<Vec<TaintObject>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct TaintObject {
    key: String,
    value: String,
    effect: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Status {
    allocatable: Option<BTreeMap<String, String>>,
    conditions: Option<Vec<Condition>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Condition {
    r#type: String,
    status: String,
}

/// A node as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenNode {
    pub(crate) node: Arc<Node>,
    /// The name of its pool.
    pub(crate) pool: Arc<str>,
    /// What names its machine.
    pub(crate) provider_id: Box<str>,
}

impl Versioned for NodeObject {
    fn version(&self) -> Option<&str> {
        self.metadata.resource_version.as_deref()
    }
}

impl NodeObject {
    pub(crate) fn name(&self) -> &str {
        &self.metadata.name
    }

    /// What is kept of it, of its labels only those that `selected` names; none where it belongs to no pool.
    pub(crate) fn seen(self, names: &mut Interned<str>, selected: &BTreeSet<Box<str>>) -> Option<SeenNode> {
        let pool = names.share(self.metadata.label(NODEPOOL_LABEL)?);
        let marks = Marks::of(
            |key| self.metadata.label(key),
            |key| self.metadata.annotation(key),
        );
        let labels = self.metadata.labels();
        let labels = labels
            .filter(|(key, _)| selected.contains(key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let allocatable: Resources = self
            .status
            .allocatable
            .iter()
            .flatten()
            .filter_map(|(name, amount)| {
                let amount = Quantity::parse(amount).ok()?.thousandths_rounded_down();
                Some((names.share(name.as_str()), amount))
            })
            .collect();
        let mut conditions = self.status.conditions.iter().flatten();
        let node = Node {
            uid: self.metadata.uid.as_str().into(),
            labels,
            taints: self.spec.taints.into_iter().flatten().filter_map(taint).collect(),
            is_cordoned: self.spec.unschedulable,
            is_ready: conditions.any(|condition| condition.r#type == "Ready" && condition.status == "True"),
            allocatable,
            marks,
            name: self.metadata.name.into(),
        };
        Some(SeenNode {
            node: Arc::new(node),
            pool,
            provider_id: self.spec.provider_id.into(),
        })
    }
}

fn taint(taint: TaintObject) -> Option<Taint> {
    Some(Taint {
        key: taint.key,
        value: taint.value,
        effect: Effect::parse(&taint.effect)?,
    })
}
