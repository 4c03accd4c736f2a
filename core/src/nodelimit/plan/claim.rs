//! A NodeClaim, with its node and the pods on it.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::node::Node;
use super::pod::Pod;
use super::tries::Tries;

/// The annotation by which Karpenter bounds the drain of a NodeClaim that is being deleted: a time in RFC 3339.
pub const DEADLINE_ANNOTATION: &str = "karpenter.sh/nodeclaim-termination-timestamp";

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
    /// Whether `status.providerID` is set: a machine was ordered.
    pub is_launched: bool,
    /// `spec.expireAfter`; `None` for `Never`.
    pub expire_after: Option<SignedDuration>,
    /// Whether `spec.terminationGracePeriod` is set: then pods cannot keep a drifted node indefinitely.
    pub has_grace_period: bool,
    /// Whether it has the annotation [`DEADLINE_ANNOTATION`].
    pub has_deadline: bool,
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
    /// Whether the reason is `Unhealthy`: the node is to be repaired. `karpenter.sh/do-not-repair` keeps Karpenter from
    /// that, and `karpenter.sh/do-not-disrupt` does not.
    pub is_repair: bool,
}

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
