//! Marks on nodes: some keep Karpenter from disrupting or repairing them, the others show that poolgate has set those.
//!
//! They are applied server-side, so that the API server knows which are ours. A user's own mark of the same name is
//! not taken over: both own it, and only our share is removed.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use kube::api::{ListParams, Patch, PatchParams};
use poolgate_core::api::{HELD_ANNOTATION, HELD_LABEL};
use poolgate_core::facts::{DO_NOT_DISRUPT_ANNOTATION, DO_NOT_REPAIR_ANNOTATION, NODEPOOL_LABEL};
use poolgate_core::nodelimit::plan::{HeldFor, Hold, Marks, ObjectRef, Unhold};
use serde_json::{Value, json};

use super::{MANAGER, PAGE, WriteError, Writer};
use crate::cluster::Collection;
use crate::cluster::objects::{Metadata, NODES, NodeObject, Texts};

/// How many nodes are written to at the same time.
const AT_ONCE: usize = 8;

/// The names of these writes in metrics and logs.
const HOLD: &str = "hold";
const UNHOLD: &str = "release";

/// The metadata of a node.
type Marked = Metadata<Texts, Texts>;

impl Writer {
    /// Holds nodes. After an error the other nodes are still written; the first error is returned.
    pub async fn hold(&self, nodes: &[Hold]) -> Result<(), WriteError> {
        let mut answers = stream::iter(nodes.to_vec())
            .map(|hold| async move {
                let applied = self.apply(&hold.node, HOLD, share(hold.reasons)).await;
                (hold.node, applied)
            })
            .buffer_unordered(AT_ONCE);
        let mut first = Ok(());
        while let Some((node, result)) = answers.next().await {
            match result {
                Err(error) if error.is_gone() => {}
                Err(error) if error.is_conflict() => {
                    if self.unheld.is_news(Arc::clone(&node.uid), "") {
                        tracing::warn!(node = &*node.name, %error, "could not hold a node");
                    }
                }
                Err(error) => first = first.and(Err(error)),
                Ok(_) => {}
            }
        }
        first
    }

    /// Unholds nodes. After an error the other nodes are still written; the first error is returned.
    pub async fn unhold(&self, nodes: &[Unhold]) -> Result<(), WriteError> {
        let mut answers = stream::iter(nodes.to_vec())
            .map(|unhold| async move { self.unhold_one(&unhold).await })
            .buffer_unordered(AT_ONCE);
        let mut first = Ok(());
        while let Some(result) = answers.next().await {
            first = first.and(result);
        }
        first
    }

    /// Applies poolgate's whole share of a node's metadata: whatever `share` no longer names is removed. Returns the
    /// metadata after that.
    async fn apply(
        &self,
        node: &ObjectRef,
        what: &'static str,
        share: Value,
    ) -> Result<Option<Marked>, WriteError> {
        if self.observe {
            tracing::info!(node = &*node.name, what, "would write node marks");
            return Ok(None);
        }
        let mut metadata = share;
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("name".into(), (*node.name).into());
            // A new node of the same name has another UID.
            metadata.insert("uid".into(), (*node.uid).into());
        }
        let object = json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata});
        let nodes = Collection::<NodeObject>::new(self.client.clone(), NODES);
        let (params, patch) = (PatchParams::apply(MANAGER), Patch::Apply(&object));
        let stored = self
            .write(what, |by| nodes.patch_metadata(&node.name, &params, &patch, by))
            .await?;
        tracing::info!(node = &*node.name, what, "wrote node marks");
        Ok(Some(stored.metadata))
    }

    async fn unhold_one(&self, unhold: &Unhold) -> Result<(), WriteError> {
        let share = if unhold.hand_over {
            json!({"annotations": {DO_NOT_DISRUPT_ANNOTATION: "true"}})
        } else {
            json!({})
        };
        let node = &unhold.node;
        match self.apply(node, UNHOLD, share).await {
            Ok(Some(left)) if is_marked(&left) => self.strip(node, left.resource_version).await,
            Ok(_) => Ok(()),
            // Gone or replaced: it has none of our marks.
            Err(error) if error.is_stale() => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Removes label and annotation that the API server does not know to be ours: another client has written the
    /// whole node, or a user has set them by hand.
    async fn strip(&self, node: &ObjectRef, version: Option<Box<str>>) -> Result<(), WriteError> {
        let patch = json!({"metadata": {
            "uid": &*node.uid,
            "resourceVersion": version,
            "labels": {HELD_LABEL: null},
            "annotations": {HELD_ANNOTATION: null},
        }});
        let nodes = self.written(NODES);
        let (params, patch) = (PatchParams::default(), Patch::Merge(&patch));
        let stripped = |by| nodes.patch_metadata(&node.name, &params, &patch, by);
        match self.write(UNHOLD, stripped).await {
            Err(error) if !error.is_gone() => Err(error),
            _ => Ok(()),
        }
    }
}

/// Removes every mark, except from nodes that are held for the freeze of one of these pools. Returns how many nodes had one. After an error the other nodes are still written; the first error is
/// returned.
pub async fn unhold_all(writer: &Writer, frozen: &BTreeSet<Box<str>>) -> Result<usize, WriteError> {
    let nodes = Collection::<NodeObject>::new(writer.client.clone(), NODES);
    let mut pages = nodes.metadata_pages(ListParams::default().limit(PAGE));
    let (mut count, mut first) = (0, Ok(()));
    while let Some(page) = writer.call(|by| pages.next(by)).await? {
        let nodes = page.into_iter().map(|node| node.metadata);
        let marked: Vec<Unhold> = nodes
            .filter_map(|node| {
                let marks = Marks::from_lookups(|key| node.label(key), |key| node.annotation(key));
                let pool = node.label(NODEPOOL_LABEL).unwrap_or_default();
                let is_spared = marks.held_for().freeze && frozen.contains(pool);
                (marks.any_is_ours() && !is_spared).then(|| Unhold {
                    hand_over: marks.hands_over(),
                    node: ObjectRef {
                        name: node.name.into(),
                        uid: node.uid.into(),
                    },
                })
            })
            .collect();
        count += marked.len();
        first = first.and(writer.unhold(&marked).await);
    }
    first.map(|()| count)
}

/// Poolgate's whole share of the metadata of a node that is held.
fn share(reasons: HeldFor) -> Value {
    let mut annotations = json!({HELD_ANNOTATION: reasons.text()});
    for (is_needed, annotation) in [
        (reasons.forbid_disruption(), DO_NOT_DISRUPT_ANNOTATION),
        (reasons.repair, DO_NOT_REPAIR_ANNOTATION),
    ] {
        if is_needed && let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(annotation.into(), "true".into());
        }
    }
    json!({"labels": {HELD_LABEL: "true"}, "annotations": annotations})
}

/// Whether poolgate's label or annotation is on a node.
fn is_marked(node: &Marked) -> bool {
    node.label(HELD_LABEL).is_some() || node.annotation(HELD_ANNOTATION).is_some()
}
