//! Pods.

use std::sync::Arc;

use poolgate_core::facts::DO_NOT_DISRUPT_ANNOTATION;
use poolgate_core::nodelimit::plan::{
    DELETION_COST_ANNOTATION, DISRUPTION_COST_ANNOTATION, DoNotDisrupt, Pod, PodOnNode, written_cost,
};
use poolgate_core::pods::{Needs, PodSpec};
use serde::Deserialize;

use super::{Conditions, Interned, Metadata, Object, Texts, instant};

/// The annotation of the mirror pod of a static pod.
const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

/// The fields of a Pod that are read.
pub type PodObject = Object<Metadata<Texts, Texts>, PodSpec, Status>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    phase: String,
    start_time: Option<String>,
    conditions: Conditions,
}

/// Where a pod is.
#[derive(Debug, Clone, PartialEq)]
pub enum PodLocation {
    /// On the node of this name.
    Bound(Arc<str>, Arc<Pod>),
    /// On no node: the scheduler finds no node for it.
    Unschedulable(Arc<Needs>),
}

/// Values that pods share: pods of one workload are mostly equal.
#[derive(Debug, Default)]
pub struct PodKinds {
    names: Interned<str>,
    needs: Interned<Needs>,
    pods: Interned<Pod>,
}

impl PodObject {
    /// The kept part of the pod; `None` if no plan depends on it.
    pub fn location(self, kinds: &mut PodKinds) -> Option<PodLocation> {
        let mut needs = || {
            kinds
                .needs
                .share(self.spec.needs(&mut |name| kinds.names.share(name)))
        };
        match self.spec.node_name() {
            Some(node) => {
                let (node, needs) = (node.into(), needs());
                Some(PodLocation::Bound(node, kinds.pods.share(self.pod(needs))))
            }
            None if self.is_unschedulable() => Some(PodLocation::Unschedulable(needs())),
            None => None,
        }
    }

    /// The name of its node.
    pub fn node_name(&self) -> Option<&str> {
        self.spec.node_name()
    }

    /// The pod as a drain of its node finds it.
    pub fn on_node(self) -> PodOnNode {
        let needs = self.spec.needs(&mut |name| name.into());
        PodOnNode {
            name: self.metadata.name.clone(),
            pod: Arc::new(self.pod(Arc::new(needs))),
        }
    }

    fn pod(self, needs: Arc<Needs>) -> Pod {
        let ready = self.status.conditions.get("Ready");
        let meta = &self.metadata;
        let do_not_disrupt = meta
            .annotation(DO_NOT_DISRUPT_ANNOTATION)
            .and_then(DoNotDisrupt::parse);
        let start = self.status.start_time.as_deref();
        Pod {
            is_unready: ready.is_some_and(|ready| &*ready.status == "False"),
            needs,
            is_daemon: meta.is_owned_by("DaemonSet"),
            is_bare: !meta.is_controlled(),
            is_mirror: meta.annotation(MIRROR_ANNOTATION).is_some(),
            is_terminal: matches!(self.status.phase.as_str(), "Succeeded" | "Failed"),
            is_leaving: meta.deleted().is_some() && !meta.is_owned_by("StatefulSet"),
            deleted: meta.deleted(),
            do_not_disrupt,
            // Kept only if something depends on it: otherwise equal pods would differ by it.
            started: instant(start.filter(|_| matches!(do_not_disrupt, Some(DoNotDisrupt::For(_))))),
            // One that cannot be read still outranks the other.
            disruption_cost: meta
                .annotation(DISRUPTION_COST_ANNOTATION)
                .map(|text| written_cost(text).unwrap_or(0)),
            deletion_cost: meta.annotation(DELETION_COST_ANNOTATION).and_then(written_cost),
            priority: self.spec.priority(),
            namespace: self.metadata.namespace,
            labels: self.metadata.labels.unwrap_or_default(),
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
