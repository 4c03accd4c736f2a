//! A NodeClaim, with its node and the pods on it.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::node::Node;
use super::pod::Pod;
use super::tries::Tries;

/// The annotation by which Karpenter bounds the drain of a NodeClaim that is being deleted: a time in RFC 3339.
pub const DEADLINE_ANNOTATION: &str = "karpenter.sh/nodeclaim-termination-timestamp";

/// A NodeClaim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// `metadata.name`.
    pub name: Arc<str>,
    /// `metadata.uid`.
    pub uid: Arc<str>,
    /// `metadata.creationTimestamp`.
    pub created: Timestamp,
    /// `metadata.deletionTimestamp`.
    pub deleted: Option<Timestamp>,
    /// Whether `status.providerID` is set: a machine was ordered.
    pub is_launched: bool,
    /// `spec.expireAfter`; `None` for `Never`.
    pub expire_after: Option<SignedDuration>,
    /// Whether `spec.terminationGracePeriod` is set: then pods cannot keep a drifted node indefinitely.
    pub has_grace_period: bool,
    /// Whether it has the annotation [`DEADLINE_ANNOTATION`].
    pub has_deadline: bool,
    /// Its conditions.
    pub conditions: Conditions,
}

/// Conditions of a NodeClaim that are `True`.
#[allow(clippy::struct_excessive_bools, reason = "each is a condition of its own")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Conditions {
    /// `Initialized`: Karpenter disrupts no node before.
    pub initialized: bool,
    /// `Drifted`.
    pub drifted: bool,
    /// `Consolidatable`.
    pub consolidatable: bool,
    /// `InstanceTerminating`: budgets no longer count it.
    pub instance_terminating: bool,
    /// `Rebooting`: its machine is restarted in place, and nothing replaces it.
    pub rebooting: bool,
    /// `DisruptionReason`.
    pub disruption: Option<Disruption>,
}

/// Karpenter's condition `DisruptionReason`: it wants to disrupt the node. It is set anew at each try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disruption {
    /// `lastTransitionTime`.
    pub since: Timestamp,
    /// Whether the reason is `Unhealthy`: the node is to be repaired. `karpenter.sh/do-not-repair` keeps Karpenter from
    /// that, and `karpenter.sh/do-not-disrupt` does not.
    pub is_repair: bool,
}

/// A NodeClaim of the pool, with what belongs to it.
#[derive(Debug, Clone)]
pub struct ClaimState<'s> {
    /// The claim.
    pub claim: &'s Claim,
    /// Its node: the one with the claim's `providerID`. `None` if it has not registered, or is gone.
    pub node: Option<&'s Node>,
    /// How often Karpenter was seen to try to disrupt the node.
    pub tries: Option<Tries>,
    /// All pods bound to the node, finished ones and those of `DaemonSets` included, in any order.
    pub pods: Vec<&'s Pod>,
}
