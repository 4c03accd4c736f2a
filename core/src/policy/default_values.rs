//! The values that admission writes if a NodePool leaves them out.

use serde_json::{Value, json};

use crate::api::NodeLimitMode;
use crate::karpenter::ApiVersion;

/// The values of fields that the user left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultValues {
    /// `budgets` of a v1 NodePool that has none: a list.
    pub budgets: Value,
    /// `consolidationPolicy` of a v1 NodePool.
    pub consolidation_policy: String,
    /// `consolidateAfter` of a v1 NodePool. A v1beta1 NodePool gets none: every CRD that Karpenter shipped rejects
    /// it together with the policy `WhenUnderutilized`, the default there.
    pub consolidate_after: String,
    /// `nodeLimitMode` of a new NodePool that has it neither as a field nor as an annotation.
    pub node_limit_mode: NodeLimitMode,
}

impl DefaultValues {
    /// `budgets` of a NodePool of this version. In v1beta1 budgets cannot name reasons, so each limits all.
    pub fn budgets_in(&self, version: ApiVersion) -> Value {
        let mut budgets = self.budgets.clone();
        if version == ApiVersion::V1Beta1 {
            for budget in budgets.as_array_mut().into_iter().flatten() {
                if let Some(budget) = budget.as_object_mut() {
                    budget.remove("reasons");
                }
            }
        }
        budgets
    }
}

impl Default for DefaultValues {
    fn default() -> Self {
        Self {
            budgets: json!([{"nodes": "10%"}]),
            consolidation_policy: "WhenEmptyOrUnderutilized".into(),
            consolidate_after: "0s".into(),
            node_limit_mode: NodeLimitMode::Hard,
        }
    }
}
