//! A pod, as far as the disruption of its node depends on it, and what it needs of a node: resources, and taints that it
//! tolerates.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::fmt::friendly::{Spacing, SpanPrinter};
use jiff::{SignedDuration, Timestamp};

use crate::facts::{KarpenterVersion, ProviderSettings};
use crate::policy::{FeatureGate, GateState, Policy};
use crate::value::duration::GoDuration;
use crate::value::quantity::Quantity;
use crate::value::words;

/// The annotation that sets how much the disruption of a pod costs, from Karpenter 1.15 on.
// karpenter: pkg/apis/v1/labels.go DisruptionCostAnnotationKey
pub const DISRUPTION_COST_ANNOTATION: &str = "karpenter.sh/disruption-cost";

/// The annotation that sets how much the deletion of a pod costs. It counts for disruption, too, if nothing else does.
pub const DELETION_COST_ANNOTATION: &str = "controller.kubernetes.io/pod-deletion-cost";

/// A pod on a node, without its name: pods of one workload are equal, and may be kept once.
#[allow(clippy::struct_excessive_bools, reason = "each is a property of its own")]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pod {
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
    /// True if more than the fields above decides where it may run: required node affinity or pod (anti-)affinity,
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

/// The resource that counts pods.
pub const PODS: &str = "pods";

/// Amounts by the name of the resource, in thousandths of its unit. A resource that is not named counts as 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resources(Vec<(Arc<str>, i64)>);

impl Resources {
    /// The amounts that a pod requests, rounded up. What cannot be read, or is below 0, counts as 0.
    pub fn asked<'t>(amounts: impl IntoIterator<Item = (&'t str, &'t str)>) -> Self {
        Self::read(amounts, Quantity::thousandths_rounded_up)
    }

    /// The amounts that a node can give, rounded down. What cannot be read, or is below 0, counts as 0.
    pub fn given<'t>(amounts: impl IntoIterator<Item = (&'t str, &'t str)>) -> Self {
        Self::read(amounts, Quantity::thousandths_rounded_down)
    }

    fn read<'t>(
        amounts: impl IntoIterator<Item = (&'t str, &'t str)>,
        thousandths: impl Fn(&Quantity) -> i64,
    ) -> Self {
        amounts
            .into_iter()
            .filter_map(|(name, text)| Some((Arc::from(name), thousandths(&Quantity::parse(text).ok()?))))
            .collect()
    }

    /// Room for this many pods.
    pub(crate) fn pods(count: i64) -> Self {
        Self(vec![(Arc::from(PODS), count.saturating_mul(1_000))])
    }

    /// How much of a resource there is, in thousandths.
    pub fn amount(&self, name: &str) -> i64 {
        self.position(name)
            .ok()
            .and_then(|at| self.0.get(at))
            .map_or(0, |(_, amount)| *amount)
    }

    /// Every resource that is named, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        self.0.iter().map(|(name, amount)| (&**name, *amount))
    }

    /// Adds other amounts, as the requests of several containers are added.
    pub fn add(&mut self, other: &Self) {
        self.merge(other, i64::saturating_add);
    }

    /// Takes the larger of both amounts, as for init containers.
    pub fn raise(&mut self, other: &Self) {
        self.merge(other, i64::max);
    }

    /// Subtracts other amounts. The result may be below 0.
    pub(crate) fn take(&mut self, other: &Self) {
        self.merge(other, i64::saturating_sub);
    }

    /// True if all of them fit into what is left.
    pub(crate) fn fit_in(&self, left: &Self) -> bool {
        self.iter()
            .all(|(name, amount)| amount <= left.amount(name).max(0))
    }

    fn merge(&mut self, other: &Self, together: impl Fn(i64, i64) -> i64) {
        for (name, amount) in &other.0 {
            match self.position(name) {
                Ok(at) => {
                    if let Some((_, own)) = self.0.get_mut(at) {
                        *own = together(*own, *amount);
                    }
                }
                Err(at) => self.0.insert(at, (Arc::clone(name), together(0, *amount))),
            }
        }
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(own, _)| (**own).cmp(name))
    }
}

impl FromIterator<(Arc<str>, i64)> for Resources {
    /// From amounts in thousandths; several of one resource are added, those below 0 count as 0.
    fn from_iter<T: IntoIterator<Item = (Arc<str>, i64)>>(amounts: T) -> Self {
        let mut resources = Self::default();
        for (name, amount) in amounts {
            resources.add(&Self(vec![(name, amount.max(0))]));
        }
        resources
    }
}

/// What a taint does to pods that do not tolerate it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// They are not scheduled there.
    NoSchedule,
    /// They are scheduled there only if no other node fits.
    PreferNoSchedule,
    /// They are not scheduled there, and those that run there are evicted.
    NoExecute,
}

/// A taint of a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeTaint {
    /// The key of the taint.
    pub key: String,
    /// Its value; empty if it has none.
    pub value: String,
    /// What it does to pods without a toleration.
    pub effect: Effect,
}

/// A toleration of a pod.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Toleration {
    /// The key of the taints tolerated; `None`: every key.
    pub key: Option<String>,
    /// The value tolerated; `None`: every value (operator `Exists`). An empty text for operator `Equal` without
    /// value.
    pub value: Option<String>,
    /// The effect tolerated; `None`: every effect.
    pub effect: Option<Effect>,
}

words!(Effect {
    NoSchedule = "NoSchedule",
    PreferNoSchedule = "PreferNoSchedule",
    NoExecute = "NoExecute",
});

impl Toleration {
    fn tolerates(&self, taint: &NodeTaint) -> bool {
        self.key.as_ref().is_none_or(|key| *key == taint.key)
            && self.value.as_ref().is_none_or(|value| *value == taint.value)
            && self.effect.is_none_or(|effect| effect == taint.effect)
    }
}

/// True if a pod with these tolerations may run on a node with these taints.
pub fn tolerated(taints: &[NodeTaint], tolerations: &[Toleration]) -> bool {
    taints
        .iter()
        .filter(|taint| taint.effect != Effect::PreferNoSchedule)
        .all(|taint| tolerations.iter().any(|toleration| toleration.tolerates(taint)))
}
