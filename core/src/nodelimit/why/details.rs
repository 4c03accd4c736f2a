//! What a report needs of NodeClaims and NodePools, and a plan does not.

use jiff::Timestamp;

use crate::nodelimit::plan::Taint;
use crate::policy::GateState;

/// What only a report needs of a NodeClaim.
#[derive(Debug, Clone, Default)]
pub struct Details {
    /// `status.nodeName`.
    pub node_name: Option<Box<str>>,
    /// `status.lastPodEventTime`: when a pod came to the node or went last.
    pub last_pod_event: Option<Timestamp>,
    /// `spec.startupTaints`.
    pub startup_taints: Vec<Taint>,
    /// When its drain ends, whatever still runs.
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

/// What only a report needs of a NodePool.
#[derive(Debug, Clone)]
pub struct PoolDetails {
    /// `spec.disruption.consolidateAfter`.
    pub consolidate_after: Option<Box<str>>,
    /// `NodeClassReady`.
    pub class_ready: Option<Condition>,
    /// `Ready`.
    pub ready: Option<Condition>,
    /// What is known of Karpenter's gate `NodeRepair` where the pool is.
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
    /// Whether it holds.
    pub fn is_true(&self) -> bool {
        &*self.status == "True"
    }
}
