//! A pod, as far as the disruption of its node depends on it.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::resources::Resources;
use super::taints::Toleration;
use crate::value::duration::GoDuration;

/// The annotation that sets how much the deletion of a pod costs.
pub const DELETION_COST_ANNOTATION: &str = "controller.kubernetes.io/pod-deletion-cost";

/// A pod on a node, without its name: pods of one workload are equal, and may be kept once.
#[allow(clippy::struct_excessive_bools, reason = "each is a property of its own")]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pod {
    /// What a node must be like to take it. Pods of one workload may share it.
    pub needs: Arc<Needs>,
    /// Whether a `DaemonSet` owns it.
    pub is_daemon: bool,
    /// Whether no controller owns it, so that nothing starts it again elsewhere.
    pub is_bare: bool,
    /// Whether it is the mirror of a static pod.
    pub is_mirror: bool,
    /// Whether its phase is `Succeeded` or `Failed`.
    pub is_terminal: bool,
    /// Whether it has a deletion timestamp and its owner is not a `StatefulSet`: nothing is placed elsewhere for
    /// it.
    pub is_leaving: bool,
    /// Its `karpenter.sh/do-not-disrupt`, read by [`DoNotDisrupt::parse`].
    pub do_not_disrupt: Option<DoNotDisrupt>,
    /// `status.startTime`; only needed with [`DoNotDisrupt::For`].
    pub started: Option<Timestamp>,
    /// Its `controller.kubernetes.io/pod-deletion-cost`; `None` if it is missing or not a number.
    pub deletion_cost: Option<DeletionCost>,
    /// `spec.priority`, as the API server took it from the pod's priority class.
    pub priority: Option<i32>,
}

/// What a pod needs of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Needs {
    /// Its resource requests, all containers and the overhead together, without its own entry under the node's
    /// `pods`.
    pub requests: Resources,
    /// `spec.nodeSelector`: labels that the node must have.
    pub node_selector: BTreeMap<String, String>,
    /// `spec.tolerations`: taints that the node may have.
    pub tolerations: Vec<Toleration>,
    /// Whether more than the fields above decides where it may run: required node affinity or pod (anti-)affinity,
    /// a topology spread with `DoNotSchedule`, volumes bound to a location, host ports, resource claims.
    pub is_bound: bool,
}

/// How long a pod must not be disrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DoNotDisrupt {
    /// For as long as it runs.
    Always,
    /// For this long after its start.
    For(SignedDuration),
}

impl DoNotDisrupt {
    /// Reads the annotation of a pod: `true`, or a positive duration. Karpenter ignores every other value.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "true" {
            return Some(Self::Always);
        }
        let nanos = GoDuration::parse(text).ok()?.as_nanos();
        (nanos > 0).then(|| Self::For(SignedDuration::from_nanos(nanos)))
    }
}

/// The deletion cost of a pod: a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeletionCost(f64);

impl DeletionCost {
    /// The cost for a number, none for NaN; -0 becomes 0.
    pub fn new(cost: f64) -> Option<Self> {
        (!cost.is_nan()).then_some(Self(cost + 0.0))
    }

    /// Reads the annotation. Karpenter ignores a value that is not a number.
    pub fn parse(text: &str) -> Option<Self> {
        Self::new(text.parse().ok()?)
    }

    pub(crate) const fn get(self) -> f64 {
        self.0
    }
}

impl Eq for DeletionCost {}

impl Hash for DeletionCost {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl Pod {
    /// Whether the pod's annotation keeps Karpenter from disrupting its node.
    pub(crate) fn forbids_disruption(&self, now: Timestamp) -> bool {
        match (self.do_not_disrupt, self.started) {
            (None, _) => false,
            (Some(DoNotDisrupt::Always), _) | (Some(DoNotDisrupt::For(_)), None) => true,
            (Some(DoNotDisrupt::For(length)), Some(started)) => now.duration_since(started) < length,
        }
    }

    /// Whether the pod must be placed on another node when its node goes.
    pub(crate) fn is_reschedulable(&self) -> bool {
        !(self.is_daemon || self.is_mirror || self.is_terminal || self.is_leaving)
    }

    /// Whether the pod is lost when its node goes.
    pub(crate) fn is_lost_with_its_node(&self) -> bool {
        self.is_bare && self.is_reschedulable()
    }
}
