//! What is known of a node: its NodeClaim, the node object, and the pods on it.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::ops::Deref;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::marks::Marks;
use super::pod::Pod;
use crate::facts::DISRUPTED_TAINT;
use crate::nodelimit::ledger::Moment;
use crate::pods::{NodeTaint, Resources};

/// The annotation by which Karpenter bounds the drain of a NodeClaim that is being deleted: a time in RFC 3339.
// karpenter: pkg/apis/v1/labels.go NodeClaimTerminationTimestampAnnotationKey
pub const DEADLINE_ANNOTATION: &str = "karpenter.sh/nodeclaim-termination-timestamp";

/// A NodeClaim of the pool, with what belongs to it.
#[derive(Debug, Clone)]
pub struct ClaimState<'s> {
    /// The NodeClaim itself.
    pub claim: &'s Claim,
    /// Its node: the one with the claim's `providerID`. `None` if it has not registered, or is gone.
    pub node: Option<&'s Node>,
    /// How often Karpenter was seen to try to disrupt the node.
    pub tries: Option<Tries>,
    /// All pods bound to the node, finished ones and those of `DaemonSets` included, in any order.
    pub pods: Vec<&'s Pod>,
}

impl Deref for ClaimState<'_> {
    type Target = Claim;

    fn deref(&self) -> &Claim {
        self.claim
    }
}

impl ClaimState<'_> {
    /// Older first, then by name.
    pub(crate) fn age_key(&self) -> (Timestamp, &str, &str) {
        (self.created, &self.name, &self.uid)
    }

    /// The marks on its node; none if it has no node.
    pub(crate) fn marks(&self) -> Marks {
        self.node.map(|node| node.marks).unwrap_or_default()
    }

    /// True if it has no pods that must be scheduled on another node when its node goes.
    // karpenter: pkg/controllers/disruption/types.go Candidate.IsEmpty
    pub(crate) fn is_empty(&self) -> bool {
        !self.pods.iter().any(|pod| pod.is_reschedulable())
    }

    /// True if it was created and its node is not ready for pods yet.
    pub fn is_starting(&self) -> bool {
        self.deleted.is_none() && !self.conditions.initialized
    }

    /// True if Karpenter could disrupt the node sooner or later, as far as its state shows. Its marks may forbid that.
    // karpenter: pkg/controllers/state/statenode.go StateNode.ValidateNodeDisruptable
    pub fn is_candidate(&self) -> bool {
        let conditions = self.conditions;
        self.node.is_some() && conditions.initialized && !conditions.rebooting && !self.is_going()
    }

    /// True if a freeze of the pool marks its node: else a user keeps Karpenter from disrupting it anyway.
    pub fn needs_freeze(&self) -> bool {
        self.is_candidate() && !self.marks().are_users()
    }

    /// True if it is deleted or Karpenter is disrupting its node.
    pub(crate) fn is_going(&self) -> bool {
        self.deleted.is_some() || self.is_being_disrupted()
    }

    /// True if Karpenter is disrupting its node or about to. A reboot is not a disruption here: the node stays.
    pub(crate) fn is_being_disrupted(&self) -> bool {
        self.node.is_some_and(Node::is_being_disrupted) && !self.conditions.rebooting
    }

    /// True if it is not deleted, Karpenter is disrupting its node, and no mark forbids that.
    pub(crate) fn is_openly_disrupted(&self) -> bool {
        let is_protected = if self.is_to_be_repaired() {
            self.marks().do_not_repair
        } else {
            self.marks().do_not_disrupt
        };
        self.deleted.is_none() && self.is_being_disrupted() && !is_protected
    }

    /// Since when Karpenter wants to disrupt the node.
    pub(crate) fn disrupted_since(&self) -> Option<Timestamp> {
        self.conditions.disruption.map(|disruption| disruption.since)
    }

    /// True if Karpenter wants to replace the node because it is broken.
    pub(crate) fn is_to_be_repaired(&self) -> bool {
        let is_repair = |disruption: Disruption| disruption.is_repair;
        self.deleted.is_none()
            && !self.conditions.rebooting
            && self.conditions.disruption.is_some_and(is_repair)
    }

    /// True if the gate makes room for its replacement.
    pub(crate) fn is_being_replaced(&self) -> bool {
        let is_disrupted = self.conditions.disruption.is_some() && !self.conditions.rebooting;
        self.deleted.is_none() && self.conditions.initialized && is_disrupted
    }
}

/// A NodeClaim, as far as the plan depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// `metadata.name`, by which events and the log name it.
    pub name: Arc<str>,
    /// `metadata.uid`, which identifies it in the ledger and in the precondition of its deletion.
    pub uid: Arc<str>,
    /// `metadata.creationTimestamp`: when Karpenter created it.
    pub created: Timestamp,
    /// `metadata.deletionTimestamp`; `None` while it is not being deleted.
    pub deleted: Option<Timestamp>,
    /// True if `status.providerID` is set: a machine was ordered.
    pub is_launched: bool,
    /// `spec.expireAfter`; `None` for `Never`.
    pub expire_after: Option<SignedDuration>,
    /// True if `spec.terminationGracePeriod` is set: then pods cannot keep a drifted node indefinitely.
    pub has_grace_period: bool,
    /// True if it has the annotation [`DEADLINE_ANNOTATION`].
    pub has_deadline: bool,
    /// Karpenter's hash of the template that it was made from, if it is of the version that
    /// [`template_hash`](crate::drift::template_hash) computes.
    pub drift_hash: Option<NonZeroU64>,
    /// Those of its conditions that are `True`.
    pub conditions: Conditions,
}

/// Conditions of a NodeClaim that are `True`.
#[allow(clippy::struct_excessive_bools, reason = "each is a condition of its own")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Conditions {
    /// `Initialized`: Karpenter disrupts no node before.
    pub initialized: bool,
    /// `Drifted`: the node no longer matches its NodePool or node class.
    pub drifted: bool,
    /// `Consolidatable`: the node was unchanged for `consolidateAfter`.
    pub consolidatable: bool,
    /// `InstanceTerminating`: budgets no longer count it.
    pub instance_terminating: bool,
    /// `Rebooting`: its machine is restarted in place, and nothing replaces it.
    pub rebooting: bool,
    /// `DisruptionReason`; `None` if Karpenter does not want to disrupt the node.
    pub disruption: Option<Disruption>,
}

/// Karpenter's condition `DisruptionReason`: it wants to disrupt the node. It is set anew at each try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disruption {
    /// `lastTransitionTime` of the condition.
    pub since: Timestamp,
    /// True if the reason is `Unhealthy`: the node is to be repaired. `karpenter.sh/do-not-repair` keeps Karpenter from
    /// that, and `karpenter.sh/do-not-disrupt` does not.
    pub is_repair: bool,
}

/// A node, as far as the plan depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// `metadata.name`, by which events and the log name it.
    pub name: Arc<str>,
    /// `metadata.uid`, for the precondition of a write.
    pub uid: Arc<str>,
    /// `metadata.labels`, or at least those that pods select by. Nodes of one kind may share them.
    pub labels: Arc<BTreeMap<String, String>>,
    /// `spec.taints`. Nodes may share them.
    pub taints: Arc<[NodeTaint]>,
    /// `spec.unschedulable`: no new pods are scheduled here.
    pub is_cordoned: bool,
    /// True if its condition `Ready` is true.
    pub is_ready: bool,
    /// `status.allocatable`. Nodes of one kind may share it.
    pub allocatable: Arc<Resources>,
    /// What keeps Karpenter from disrupting it.
    pub marks: Marks,
    /// A hash of its conditions, without heartbeats and messages.
    pub conditions: u64,
}

impl Node {
    /// True if Karpenter is disrupting the node or about to.
    pub(crate) fn is_being_disrupted(&self) -> bool {
        self.taints.iter().any(|taint| taint.key == DISRUPTED_TAINT)
    }

    /// True if the scheduler puts pods there, and Karpenter relies on that.
    pub(crate) fn takes_pods(&self) -> bool {
        self.is_ready && !self.is_cordoned
    }
}

/// Karpenter's tries to disrupt one node, as an unbroken watch has shown them while no condition of the node changed.
///
/// Karpenter sets `DisruptionReason` before it creates the replacement. If that is denied, it removes the condition and
/// sets it anew at the next try; a command whose replacement was created is not tried again. So a second try shows that
/// the first one failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tries {
    /// When the first one was seen.
    pub first: Moment,
    /// When the last one was seen.
    pub last: Moment,
    /// `lastTransitionTime` of the last one.
    since: Timestamp,
    is_repeated: bool,
}

// karpenter: pkg/controllers/disruption/queue.go Queue.StartCommand
// karpenter: pkg/controllers/disruption/controller.go Controller.Reconcile
impl Tries {
    /// What is known after a condition `DisruptionReason` with this `lastTransitionTime` was seen. Tries within one
    /// second look like one.
    #[must_use]
    pub fn seen(before: Option<Self>, since: Timestamp, now: Moment) -> Self {
        match before {
            Some(before) if before.since == since => before,
            Some(before) => Self {
                last: now,
                since,
                is_repeated: true,
                ..before
            },
            None => Self {
                first: now,
                last: now,
                since,
                is_repeated: false,
            },
        }
    }

    /// True if there was more than one, so that at least one has failed.
    pub const fn have_failed(self) -> bool {
        self.is_repeated
    }
}

/// A node to write to, or a claim to delete.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// The name of the object; neither kind has a namespace.
    pub name: Arc<str>,
    /// Its UID, for the precondition.
    pub uid: Arc<str>,
}

impl ObjectRef {
    /// A reference to this node.
    pub fn to_node(node: &Node) -> Self {
        Self {
            name: Arc::clone(&node.name),
            uid: Arc::clone(&node.uid),
        }
    }

    pub(crate) fn to_claim(claim: &Claim) -> Self {
        Self {
            name: Arc::clone(&claim.name),
            uid: Arc::clone(&claim.uid),
        }
    }
}
