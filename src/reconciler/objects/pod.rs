//! Pods.

use std::sync::Arc;

use poolgate_core::nodelimit::plan::{
    DELETION_COST_ANNOTATION, DO_NOT_DISRUPT_ANNOTATION, DoNotDisrupt, Needs, Pod, deletion_cost,
};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Interned;
use super::pod_needs::Spec;
use crate::objects::{Conditions, Metadata, Object, Texts, instant};

/// The annotation of a mirror of a static pod.
const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

/// The fields of a Pod that are read.
pub(crate) type PodObject = Object<Metadata<IgnoredAny, Texts>, Spec, Status>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Status {
    phase: String,
    start_time: Option<String>,
    conditions: Conditions,
}

/// A pod as it was seen.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SeenPod {
    pub(crate) uid: Arc<str>,
    pub(crate) location: PodLocation,
}

/// Where a pod is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PodLocation {
    /// On the node of this name.
    Bound(Arc<str>, Arc<Pod>),
    /// Nowhere: the scheduler finds no node for it.
    Unschedulable(Arc<Needs>),
}

impl PodObject {
    /// What is kept of it; none where no plan depends on it.
    pub(crate) fn seen(self, names: &mut Interned<str>, needs: &mut Interned<Needs>) -> Option<SeenPod> {
        let uid: Arc<str> = self.metadata.uid.as_ref().into();
        let location = match self.spec.node_name() {
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
        Some(SeenPod { uid, location })
    }

    fn pod(&self, uid: Arc<str>, needs: Arc<Needs>) -> Pod {
        let meta = &self.metadata;
        Pod {
            uid,
            needs,
            is_daemon: meta.is_owned_by("DaemonSet"),
            is_mirror: meta.annotation(MIRROR_ANNOTATION).is_some(),
            is_terminal: matches!(self.status.phase.as_str(), "Succeeded" | "Failed"),
            is_leaving: meta.deleted().is_some() && !meta.is_owned_by("StatefulSet"),
            do_not_disrupt: meta
                .annotation(DO_NOT_DISRUPT_ANNOTATION)
                .and_then(DoNotDisrupt::parse),
            started: instant(self.status.start_time.as_deref()),
            deletion_cost: meta.annotation(DELETION_COST_ANNOTATION).and_then(deletion_cost),
            priority: self.spec.priority(),
        }
    }

    fn is_unschedulable(&self) -> bool {
        let scheduled = self.status.conditions.get("PodScheduled");
        self.metadata.deleted().is_none()
            && scheduled.is_some_and(|condition| {
                &*condition.status == "False" && &*condition.reason == "Unschedulable"
            })
    }
}
