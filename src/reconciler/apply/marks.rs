//! Marks on nodes: one keeps Karpenter from disrupting them, the others show that it was set by poolgate.
//!
//! They are applied server-side, so that the API server knows which are ours. A user's own mark of the same name is
//! not taken over: both own it, and only our share is removed.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use poolgate_core::nodelimit::plan::{
    DO_NOT_DISRUPT_ANNOTATION, HELD_ANNOTATION, HELD_LABEL, Marks, NodeRef, Unhold,
};
use serde_json::{Value, json};

use super::{MANAGER, WriteError, Writer};
use crate::cluster::turn_page;
use crate::reconciler::metrics::Write;

/// How many nodes are written to at the same time.
const AT_ONCE: usize = 8;

/// How many nodes to remember that cannot be held because of another manager's mark.
const MOST_LOGGED: usize = 1_000;

/// How many nodes are in one page of a list.
const PAGE: u32 = 500;

/// What is in the annotation: why the node is held.
const WHY: &str = "node-limit";

/// Writes marks.
#[derive(Debug, Default)]
pub(in crate::reconciler) struct Marker {
    /// UIDs of nodes for which it was logged that they cannot be held.
    logged: HashSet<Arc<str>>,
}

impl Marker {
    /// Holds nodes. After an error the other nodes are still written; the first error is returned.
    pub(in crate::reconciler) async fn hold(
        &mut self,
        writer: &Writer,
        nodes: &[NodeRef],
    ) -> Result<(), WriteError> {
        let metadata = json!({
            "labels": {HELD_LABEL: "true"},
            "annotations": {DO_NOT_DISRUPT_ANNOTATION: "true", HELD_ANNOTATION: WHY},
        });
        let mut answers = stream::iter(nodes)
            .map(|node| {
                let metadata = metadata.clone();
                async move { (node, writer.apply(node, Write::Hold, metadata).await) }
            })
            .buffer_unordered(AT_ONCE);
        let mut first = Ok(());
        while let Some((node, result)) = answers.next().await {
            match result {
                Err(error) if error.is_gone() => {}
                Err(error) if error.is_conflict() => self.warn(node, &error),
                Err(error) => first = first.and(Err(error)),
                Ok(_) => {}
            }
        }
        first
    }

    /// Unholds nodes. After an error the other nodes are still written; the first error is returned.
    pub(in crate::reconciler) async fn unhold(
        &self,
        writer: &Writer,
        nodes: &[Unhold],
    ) -> Result<(), WriteError> {
        let mut answers = stream::iter(nodes)
            .map(|unhold| writer.unhold(unhold))
            .buffer_unordered(AT_ONCE);
        let mut first = Ok(());
        while let Some(result) = answers.next().await {
            first = first.and(result);
        }
        first
    }

    fn warn(&mut self, node: &NodeRef, error: &WriteError) {
        if self.logged.len() >= MOST_LOGGED {
            self.logged.clear();
        }
        if self.logged.insert(Arc::clone(&node.uid)) {
            tracing::warn!(node = &*node.name, %error, "a node cannot be held");
        }
    }
}

impl Writer {
    /// Applies poolgate's whole share of a node's metadata: whatever `share` no longer names is removed.
    async fn apply(&self, node: &NodeRef, what: Write, share: Value) -> Result<Option<Left>, WriteError> {
        if self.observe {
            tracing::info!(node = &*node.name, what = what.as_str(), "would write");
            return Ok(None);
        }
        let mut metadata = share;
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("name".into(), (*node.name).into());
            // A new node of the same name has another UID.
            metadata.insert("uid".into(), (*node.uid).into());
        }
        let object = json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata});
        let nodes: Api<Node> = Api::all(self.client.clone());
        let params = PatchParams::apply(MANAGER);
        let patch = Patch::Apply(&object);
        let stored = self
            .write(what, nodes.patch_metadata(&node.name, &params, &patch))
            .await?;
        tracing::info!(node = &*node.name, what = what.as_str(), "written");
        let has = |map: &Option<BTreeMap<String, String>>, key: &str| {
            map.as_ref().is_some_and(|map| map.contains_key(key))
        };
        Ok(Some(Left {
            marks: has(&stored.metadata.labels, HELD_LABEL)
                || has(&stored.metadata.annotations, HELD_ANNOTATION),
            version: stored.metadata.resource_version,
        }))
    }

    async fn unhold(&self, unhold: &Unhold) -> Result<(), WriteError> {
        let share = if unhold.hand_over {
            json!({"annotations": {DO_NOT_DISRUPT_ANNOTATION: "true"}})
        } else {
            json!({})
        };
        let node = &unhold.node;
        match self.apply(node, Write::Unhold, share).await {
            Ok(Some(Left { marks: true, version })) => self.strip(node, version).await,
            Ok(_) => Ok(()),
            // Gone or replaced: it has none of our marks.
            Err(error) if error.is_gone() || error.is_conflict() => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Removes label and annotation that the API server does not know to be ours: another client has written the
    /// whole node, or a user has set them by hand.
    async fn strip(&self, node: &NodeRef, version: Option<String>) -> Result<(), WriteError> {
        let patch = json!({"metadata": {
            "uid": &*node.uid,
            "resourceVersion": version,
            "labels": {HELD_LABEL: null},
            "annotations": {HELD_ANNOTATION: null},
        }});
        let nodes: Api<Node> = Api::all(self.client.clone());
        let params = PatchParams::default();
        let patch = Patch::Merge(&patch);
        let stripped = nodes.patch_metadata(&node.name, &params, &patch);
        match self.write(Write::Unhold, stripped).await {
            Err(error) if !error.is_gone() => Err(error),
            _ => Ok(()),
        }
    }
}

/// Removes every mark. Returns how many nodes had one.
pub(in crate::reconciler) async fn unhold_all(
    writer: &Writer,
    nodes: &Api<Node>,
) -> Result<usize, WriteError> {
    let mut params = ListParams::default().limit(PAGE);
    let mut count = 0;
    loop {
        let page = writer.call(nodes.list_metadata(&params)).await?;
        let marked: Vec<Unhold> = page
            .items
            .into_iter()
            .filter_map(|node| {
                let of = |map: Option<BTreeMap<String, String>>| map.unwrap_or_default();
                let (labels, annotations) = (of(node.metadata.labels), of(node.metadata.annotations));
                let marks = Marks::of(
                    |key| labels.get(key).map(String::as_str),
                    |key| annotations.get(key).map(String::as_str),
                );
                (marks.held_label || marks.held_annotation).then_some(())?;
                let node = NodeRef {
                    name: node.metadata.name?.into(),
                    uid: node.metadata.uid?.into(),
                };
                Some(Unhold {
                    node,
                    hand_over: marks.keep && marks.do_not_disrupt,
                })
            })
            .collect();
        count += marked.len();
        Marker::default().unhold(writer, &marked).await?;
        if !turn_page(&mut params, page.metadata.continue_) {
            return Ok(count);
        }
    }
}

/// What a node looks like after a write.
struct Left {
    /// Whether poolgate's label or annotation is on it.
    marks: bool,
    version: Option<String>,
}
