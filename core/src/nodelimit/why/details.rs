//! The fields of NodeClaims and NodePools that a report needs, and a plan does not.

use jiff::Timestamp;

use crate::pods::NodeTaint;
use crate::policy::GateState;

/// The fields of a NodeClaim that only a report needs.
#[derive(Debug, Clone, Default)]
pub struct Details {
    /// `status.nodeName`.
    pub node_name: Option<Box<str>>,
    /// `status.lastPodEventTime`: when a pod last came to the node or left it.
    pub last_pod_event: Option<Timestamp>,
    /// `spec.startupTaints`.
    pub startup_taints: Vec<NodeTaint>,
    /// When its drain ends, even if pods still run.
    pub deadline: Option<Timestamp>,
    /// `Initialized`.
    pub initialized: Option<Condition>,
    /// `Drifted`.
    pub drifted: Option<Condition>,
    /// `Drained`.
    pub drained: Option<Condition>,
    /// `VolumesDetached`.
    pub volumes_detached: Option<Condition>,
}

/// The fields of a NodePool that only a report needs.
#[derive(Debug, Clone)]
pub struct PoolDetails {
    /// `spec.disruption.consolidateAfter`.
    pub consolidate_after: Option<Box<str>>,
    /// `NodeClassReady`.
    pub class_ready: Option<Condition>,
    /// `Ready`.
    pub ready: Option<Condition>,
    /// The state of Karpenter's gate `NodeRepair` in the cluster, as far as it is known.
    pub repair: GateState,
}

/// A condition, as a report tells it.
#[derive(Debug, Clone)]
pub struct Condition {
    /// `True`, `False` or `Unknown`.
    pub status: Box<str>,
    /// Why.
    pub reason: Box<str>,
    /// `lastTransitionTime`.
    pub since: Option<Timestamp>,
}

impl Condition {
    /// True if it holds.
    pub fn is_true(&self) -> bool {
        &*self.status == "True"
    }
}
