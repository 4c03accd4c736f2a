//! Conditions of Nodes, as something that watches over machines reports them: what Karpenter repairs.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::KarpenterCluster;

/// The kwok provider wants such a node replaced after half a minute.
const UNHEALTHY: &str = "KWOKUnhealthy";
/// The kwok provider wants such a node rebooted after half a minute, and takes the condition away with the reboot.
const REBOOT_REQUIRED: &str = "KWOKRebootRequired";

impl KarpenterCluster {
    /// Reports that a node is broken, from now on.
    #[track_caller]
    pub(crate) fn break_node(&self, node: &str) {
        self.report(node, UNHEALTHY, "True", SignedDuration::ZERO);
    }

    /// Reports that a node has been broken for long: Karpenter repairs it at once if it is older than half a minute.
    #[track_caller]
    pub(crate) fn find_node_broken(&self, node: &str) {
        self.report(node, UNHEALTHY, "True", SignedDuration::from_hours(1));
    }

    /// Reports that a node is well again.
    #[track_caller]
    pub(crate) fn heal_node(&self, node: &str) {
        self.report(node, UNHEALTHY, "False", SignedDuration::ZERO);
    }

    /// Reports that only a reboot helps a node.
    #[track_caller]
    pub(crate) fn require_reboot(&self, node: &str) {
        self.report(node, REBOOT_REQUIRED, "True", SignedDuration::ZERO);
    }

    /// Reports that a node has not been ready for long. kwok makes it ready again within moments.
    #[track_caller]
    pub(crate) fn find_node_not_ready(&self, node: &str) {
        self.report(node, "Ready", "False", SignedDuration::from_hours(1));
    }

    fn report(&self, node: &str, kind: &str, status: &str, ago: SignedDuration) {
        let now = Timestamp::now();
        let since = now - ago;
        let condition = json!({
            "type": kind,
            "status": status,
            "reason": "Test",
            "message": "a test says so",
            "lastHeartbeatTime": format!("{now:.0}"),
            "lastTransitionTime": format!("{since:.0}"),
        });
        self.client().merge_lists(
            &format!("/api/v1/nodes/{node}/status"),
            &json!({"status": {"conditions": [condition]}}),
        );
    }
}
