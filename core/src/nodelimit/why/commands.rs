//! What to type so that a node goes.

use super::known_pool::KnownPool;
use crate::api::NODE_LIMIT_ANNOTATION;
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
        if self.pool.leaves_limit_to_poolgate {
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
            "Karpenter repairs such a node only when the toleration of its provider for the condition is over"
        }
        GateState::Off => "Karpenter repairs no nodes here: the policy says that its gate NodeRepair is off",
        GateState::Unknown => {
            "Karpenter repairs nodes only with its gate NodeRepair, which is off by default"
        }
        GateState::Fixed => "It is not known whether this provider repairs nodes",
    }
}
