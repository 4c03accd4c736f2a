//! A pod, as far as the disruption of its node depends on it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::fmt::friendly::{Spacing, SpanPrinter};
use jiff::{SignedDuration, Timestamp};

use crate::facts::{KarpenterVersion, ProviderSettings};
use crate::pods::Needs;
use crate::policy::{FeatureGate, GateState, Policy};
use crate::value::duration::GoDuration;

/// The annotation that sets how much the disruption of a pod costs, from Karpenter 1.15 on.
// karpenter: pkg/apis/v1/labels.go DisruptionCostAnnotationKey
pub const DISRUPTION_COST_ANNOTATION: &str = "karpenter.sh/disruption-cost";

/// The annotation that sets how much the deletion of a pod costs. It counts for disruption, too, if nothing else does.
pub const DELETION_COST_ANNOTATION: &str = "controller.kubernetes.io/pod-deletion-cost";

/// A pod on a node, without its name: most pods of one workload are equal, and may be kept once.
#[allow(clippy::struct_excessive_bools, reason = "each is a property of its own")]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pod {
    /// `metadata.namespace`.
    pub namespace: Box<str>,
    /// `metadata.labels`, by which PodDisruptionBudgets select it.
    pub labels: BTreeMap<String, String>,
    /// True if it runs and is not ready.
    pub is_unready: bool,
    /// What a node must be like to take it. Pods of one workload may share it.
    pub needs: Arc<Needs>,
    /// True if a `DaemonSet` owns it.
    pub is_daemon: bool,
    /// True if no controller owns it, so that nothing starts it again elsewhere.
    pub is_bare: bool,
    /// True if it is the mirror of a static pod.
    pub is_mirror: bool,
    /// True if its phase is `Succeeded` or `Failed`.
    pub is_terminal: bool,
    /// True if it has a deletion timestamp and its owner is not a `StatefulSet`: nothing is scheduled elsewhere
    /// for it.
    pub is_leaving: bool,
    /// `metadata.deletionTimestamp`: when it has to have ended, if it is being deleted.
    pub deleted: Option<Timestamp>,
    /// Its `karpenter.sh/do-not-disrupt`, read by [`DoNotDisrupt::parse`].
    pub do_not_disrupt: Option<DoNotDisrupt>,
    /// `status.startTime`; only needed with [`DoNotDisrupt::For`].
    pub started: Option<Timestamp>,
    /// Its `karpenter.sh/disruption-cost`; 0 if it is not a number.
    pub disruption_cost: Option<i32>,
    /// Its `controller.kubernetes.io/pod-deletion-cost`; `None` if it is missing or not a number.
    pub deletion_cost: Option<i32>,
    /// `spec.priority`, as the API server took it from the pod's priority class.
    pub priority: Option<i32>,
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
    // karpenter: pkg/utils/pod/scheduling.go IsDoNotDisruptActive
    // karpenter: pkg/utils/pod/scheduling.go parseDoNotDisrupt
    pub fn parse(text: &str) -> Option<Self> {
        if text == "true" {
            return Some(Self::Always);
        }
        let nanos = GoDuration::parse(text).ok()?.as_nanos();
        (nanos > 0).then(|| Self::For(SignedDuration::from_nanos(nanos)))
    }
}

impl fmt::Display for DoNotDisrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PRINTER: SpanPrinter = SpanPrinter::new().spacing(Spacing::None);
        match self {
            Self::Always => f.write_str("true"),
            Self::For(length) => f.write_str(&PRINTER.duration_to_string(length)),
        }
    }
}

/// The number in an annotation about costs: 32 bits, as Karpenter and the controller of `ReplicaSets` read it.
pub fn written_cost(text: &str) -> Option<i32> {
    text.parse().ok()
}

/// Which annotations say what the disruption of a pod costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodCosts {
    /// The deletion cost: Karpenter before 1.15.
    Deletion,
    /// The disruption cost, and the deletion cost of a pod without it.
    Either,
    /// The disruption cost alone: with the feature gate `PodDeletionCostManagement`, Karpenter itself writes the other one.
    Disruption,
}

impl PodCosts {
    /// Those that Karpenter reads in the cluster of this policy, for a pool of a provider with these settings. If release or
    /// gate are not declared, every cost that a user may have written counts.
    pub(crate) fn of(policy: &Policy, settings: &ProviderSettings) -> Self {
        let cluster = &policy.cluster;
        let release = cluster.target().unwrap_or_default().release();
        if !release.has(KarpenterVersion::DISRUPTION_COST) {
            return Self::Deletion;
        }
        match cluster.gate(FeatureGate::PodDeletionCostManagement, settings) {
            GateState::On => Self::Disruption,
            GateState::Off | GateState::Unknown | GateState::Fixed => Self::Either,
        }
    }

    /// The cost of a pod, if one is written.
    // karpenter: pkg/utils/disruption/disruption.go EvictionCost
    pub(crate) fn read(self, pod: &Pod) -> Option<i32> {
        match self {
            Self::Deletion => pod.deletion_cost,
            Self::Either => pod.disruption_cost.or(pod.deletion_cost),
            Self::Disruption => pod.disruption_cost,
        }
    }
}

/// How long after its end a pod that is still there counts.
// karpenter: pkg/utils/pod/scheduling.go IsStuckTerminating
const STUCK: SignedDuration = SignedDuration::from_mins(1);

/// How long a pod's annotation keeps its node from being disrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// Until the pod ends.
    WhileItRuns,
    /// Until this time.
    Until(Timestamp),
}

impl Pod {
    /// True if it runs, and nobody has asked it to end.
    // karpenter: pkg/utils/pod/scheduling.go IsActive
    pub(crate) const fn is_active(&self) -> bool {
        !self.is_terminal && self.deleted.is_none()
    }

    /// Until when it has time to end, if it was asked to and has not.
    pub(crate) fn ends(&self, now: Timestamp) -> Option<Timestamp> {
        let end = self.deleted.filter(|_| !self.is_terminal)?;
        (now.duration_since(end) <= STUCK).then_some(end)
    }

    /// How long the pod's annotation keeps Karpenter from disrupting its node; `None` if it does not.
    // karpenter: pkg/utils/pod/scheduling.go IsDisruptable
    // karpenter: pkg/utils/pod/scheduling.go IsDoNotDisruptActive
    pub fn protection(&self, now: Timestamp) -> Option<Protection> {
        match (self.do_not_disrupt.filter(|_| self.is_active())?, self.started) {
            (DoNotDisrupt::Always, _) | (DoNotDisrupt::For(_), None) => Some(Protection::WhileItRuns),
            (DoNotDisrupt::For(length), Some(started)) => {
                let end = started.checked_add(length).unwrap_or(Timestamp::MAX);
                (now < end).then_some(Protection::Until(end))
            }
        }
    }

    /// True if the pod's annotation keeps Karpenter from disrupting its node.
    pub(crate) fn forbids_disruption(&self, now: Timestamp) -> bool {
        self.protection(now).is_some()
    }

    /// True if the pod must be scheduled on another node when its node goes.
    // karpenter: pkg/utils/pod/scheduling.go IsReschedulable
    pub(crate) fn is_reschedulable(&self) -> bool {
        !(self.is_daemon || self.is_mirror || self.is_terminal || self.is_leaving)
    }

    /// True if the pod is lost when its node goes.
    pub(crate) fn is_lost_with_its_node(&self) -> bool {
        self.is_bare && self.is_reschedulable()
    }
}
