//! Commands that make a node go.

use super::known_pool::KnownPool;
use crate::api::{NODE_LIMIT_ANNOTATION, NODE_LIMIT_SCHEDULE_ANNOTATION};
use crate::policy::GateState;

impl KnownPool<'_> {
    /// The command that gives the pool room for one node more; `None` if it has no limit.
    pub fn with_room(&self) -> Option<String> {
        let nodes = self.claims.as_ref().map_or(0, Vec::len);
        let enough = nodes.max(self.pool.limit?.nodes as usize).saturating_add(1);
        Some(self.with_limit(enough))
    }

    /// The command that sets the limit.
    pub fn with_limit(&self, nodes: usize) -> String {
        let name = &self.pool.name;
        if self.pool.schedule.is_some() {
            format!("kubectl edit nodepool {name} # {NODE_LIMIT_SCHEDULE_ANNOTATION}")
        } else if self.pool.leaves_limit_to_poolgate {
            format!("kubectl annotate nodepool {name} --overwrite {NODE_LIMIT_ANNOTATION}={nodes}")
        } else {
            format!(
                r#"kubectl patch nodepool {name} --type=merge --patch='{{"spec":{{"limits":{{"nodes":"{nodes}"}}}}}}'"#
            )
        }
    }
}

/// What replaces a node whatever Karpenter wants.
pub fn to_replace_now(claim: &str) -> String {
    format!("To replace it now: kubectl delete nodeclaim {claim} --wait=false")
}

/// Whether Karpenter repairs nodes that are not ready.
pub const fn repaired_if(gate: GateState) -> &'static str {
    match gate {
        GateState::On => {
            "Karpenter repairs such a node only after the provider's toleration for the condition has passed"
        }
        GateState::Off => {
            "Karpenter repairs no nodes, because the policy declares that the feature gate NodeRepair is off"
        }
        GateState::Unknown => {
            "Karpenter repairs nodes only with the feature gate NodeRepair, which is off by default"
        }
        GateState::Fixed => "Whether this provider repairs nodes is unknown",
    }
}
