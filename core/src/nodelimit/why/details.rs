//! The fields of NodeClaims that a report needs, and a plan does not.

use jiff::Timestamp;

use crate::nodelimit::plan::Condition;
use crate::pods::NodeTaint;

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
