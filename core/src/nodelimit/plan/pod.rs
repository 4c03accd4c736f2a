//! A pod, as far as the disruption of its node depends on it.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::resources::Resources;
use super::taints::Toleration;
use crate::value::duration::GoDuration;

/// The annotation by which a user keeps Karpenter from disrupting a pod or a node.
pub const DO_NOT_DISRUPT_ANNOTATION: &str = "karpenter.sh/do-not-disrupt";

/// The annotation that says how dear the deletion of a pod is.
pub const DELETION_COST_ANNOTATION: &str = "controller.kubernetes.io/pod-deletion-cost";

/// A pod on a node. It has no name: pods of one workload are equal, and may be kept once.
#[allow(clippy::struct_excessive_bools, reason = "each is a property of its own")]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pod {
    /// What a node must be like to take it. Pods of one workload may share it.
    pub needs: Arc<Needs>,
    /// Whether a `DaemonSet` owns it.
    pub is_daemon: bool,
    /// Whether it is the mirror of a static pod.
    pub is_mirror: bool,
    /// Whether its phase is `Succeeded` or `Failed`.
    pub is_terminal: bool,
    /// Whether it has a deletion timestamp, and its owner is no `StatefulSet`: nothing takes its place elsewhere.
    pub is_leaving: bool,
    /// Its `karpenter.sh/do-not-disrupt`, read by [`DoNotDisrupt::parse`].
    pub do_not_disrupt: Option<DoNotDisrupt>,
    /// `status.startTime`; needed only beside [`DoNotDisrupt::For`].
    pub started: Option<Timestamp>,
    /// Its `controller.kubernetes.io/pod-deletion-cost`.
    pub deletion_cost: Option<DeletionCost>,
    /// `spec.priority`.
    pub priority: Option<i32>,
}

/// What a pod demands of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Needs {
    /// What it asks for, all containers and the overhead together, without the place among the node's `pods`.
    pub requests: Resources,
    /// `spec.nodeSelector`.
    pub node_selector: BTreeMap<String, String>,
    /// `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
    /// Whether more than the above decides where it may run: required node affinity or pod (anti-)affinity, a
    /// topology spread that must hold, volumes bound to a place, host ports, resource claims.
    pub is_bound: bool,
}

/// For how long a pod must not be disrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DoNotDisrupt {
    /// For ever.
    Always,
    /// For so long after its start.
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

/// How dear the deletion of a pod is: a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeletionCost(f64);

impl DeletionCost {
    /// Of a number. There is one nought.
    pub fn of(cost: f64) -> Option<Self> {
        (!cost.is_nan()).then_some(Self(cost + 0.0))
    }

    /// Reads the annotation. Karpenter ignores what is no number.
    pub fn parse(text: &str) -> Option<Self> {
        Self::of(text.parse().ok()?)
    }

    pub(super) const fn get(self) -> f64 {
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
    /// Whether the pod keeps Karpenter from disrupting its node by its annotation.
    pub(super) fn forbids_disruption(&self, now: Timestamp) -> bool {
        match (self.do_not_disrupt, self.started) {
            (None, _) => false,
            (Some(DoNotDisrupt::Always), _) | (Some(DoNotDisrupt::For(_)), None) => true,
            (Some(DoNotDisrupt::For(length)), Some(started)) => now.duration_since(started) < length,
        }
    }

    /// Whether the pod must find another place when its node goes.
    pub(super) fn is_reschedulable(&self) -> bool {
        !(self.is_daemon || self.is_mirror || self.is_terminal || self.is_leaving)
    }
}
