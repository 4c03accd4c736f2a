//! What the organisation wants: the values that poolgate writes where a NodePool says nothing.

use crate::karpenter::NodeLimitMode;

/// The organisation's policy. [`Policy::default`] is what holds without a policy file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// What is written into fields that the user left out.
    pub defaults: DefaultValues,
}

/// The values of fields that the user left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultValues {
    /// `nodes` of the one budget written where a NodePool has no `budgets`.
    pub budget_nodes: String,
    /// `consolidationPolicy` of a v1 NodePool.
    pub consolidation_policy: String,
    /// `consolidateAfter` of a v1 NodePool. A v1beta1 NodePool gets none: every CRD that Karpenter shipped
    /// refuses it beside the policy `WhenUnderutilized`, the default there.
    pub consolidate_after: String,
    /// `nodeLimitMode` of a NodePool that carries it neither as a field nor as an annotation.
    pub node_limit_mode: NodeLimitMode,
}

impl Default for DefaultValues {
    fn default() -> Self {
        Self {
            budget_nodes: "10%".into(),
            consolidation_policy: "WhenEmptyOrUnderutilized".into(),
            consolidate_after: "0s".into(),
            node_limit_mode: NodeLimitMode::Hard,
        }
    }
}
