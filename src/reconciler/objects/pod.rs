//! Pods.

use std::sync::Arc;

use poolgate_core::nodelimit::plan::{
    DELETION_COST_ANNOTATION, DO_NOT_DISRUPT_ANNOTATION, DoNotDisrupt, Needs, Pod, deletion_cost,
};
use serde::Deserialize;

use super::Interned;
use super::meta::{Meta, instant};
use super::pod_needs::Spec;
use crate::cluster::Versioned;

/// The annotation of a mirror of a static pod.
const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

/// The fields of a Pod that are read.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PodObject {
    metadata: Meta,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    phase: String,
    start_time: Option<String>,
    conditions: Option<Vec<Condition>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Condition {
    r#type: String,
    status: String,
    reason: String,
}

/// A pod as it was seen.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SeenPod {
    pub(crate) uid: Arc<str>,
    pub(crate) whereabouts: PodLocation,
}

/// Where a pod is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PodLocation {
    /// On the node of this name.
    Bound(Arc<str>, Arc<Pod>),
    /// Nowhere: the scheduler finds no place for it.
    Unschedulable(Arc<Needs>),
}

impl Versioned for PodObject {
    fn version(&self) -> Option<&str> {
        self.metadata.resource_version.as_deref()
    }
}

impl PodObject {
    pub(crate) fn uid(&self) -> &str {
        &self.metadata.uid
    }

    /// What is kept of it; none where no plan depends on it.
    pub(crate) fn seen(self, names: &mut Interned<str>, needs: &mut Interned<Needs>) -> Option<SeenPod> {
        let uid: Arc<str> = self.metadata.uid.as_str().into();
        let whereabouts = match self.spec.node_name() {
            Some(node) => {
                let node = names.share(node);
                let needs = needs.share(self.spec.needs(names));
                PodLocation::Bound(node, Arc::new(self.pod(Arc::clone(&uid), needs)))
            }
            None if self.is_unschedulable() => {
                PodLocation::Unschedulable(needs.share(self.spec.needs(names)))
            }
            None => return None,
        };
        Some(SeenPod { uid, whereabouts })
    }

    fn pod(&self, uid: Arc<str>, needs: Arc<Needs>) -> Pod {
        let meta = &self.metadata;
        let is_owned_by = |kind: &str| meta.owners().iter().any(|owner| owner.is_app(kind));
        Pod {
            uid,
            needs,
            is_daemon: is_owned_by("DaemonSet"),
            is_mirror: meta.annotation(MIRROR_ANNOTATION).is_some(),
            is_terminal: matches!(self.status.phase.as_str(), "Succeeded" | "Failed"),
            is_leaving: meta.deleted().is_some() && !is_owned_by("StatefulSet"),
            do_not_disrupt: meta
                .annotation(DO_NOT_DISRUPT_ANNOTATION)
                .and_then(DoNotDisrupt::parse),
            started: instant(self.status.start_time.as_deref()),
            deletion_cost: meta.annotation(DELETION_COST_ANNOTATION).and_then(deletion_cost),
            priority: self.spec.priority(),
        }
    }

    fn is_unschedulable(&self) -> bool {
        let mut conditions = self.status.conditions.iter().flatten();
        self.metadata.deleted().is_none()
            && conditions.any(|condition| {
                condition.r#type == "PodScheduled"
                    && condition.status == "False"
                    && condition.reason == "Unschedulable"
            })
    }
}
