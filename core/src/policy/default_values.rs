//! The values that admission writes if a NodePool leaves them out.

use serde_json::{Value, json};

use crate::karpenter::NodeLimitMode;

/// The values of fields that the user left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultValues {
    /// `budgets` of a NodePool that has none.
    pub budgets: Vec<DefaultBudget>,
    /// `consolidationPolicy` of a v1 NodePool.
    pub consolidation_policy: String,
    /// `consolidateAfter` of a v1 NodePool. A v1beta1 NodePool gets none: every CRD that Karpenter shipped rejects
    /// it together with the policy `WhenUnderutilized`, the default there.
    pub consolidate_after: String,
    /// `nodeLimitMode` of a NodePool that has it neither as a field nor as an annotation.
    pub node_limit_mode: NodeLimitMode,
}

/// One element of the default `budgets`. Without `reasons`, which v1beta1 does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultBudget {
    /// How many nodes may be disrupted at once: a number, or a percentage.
    pub nodes: String,
    /// When it applies; `None`: always.
    pub window: Option<BudgetWindow>,
}

/// When a budget applies, in Karpenter's notation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetWindow {
    /// When it begins.
    pub schedule: String,
    /// How long it lasts.
    pub duration: String,
}

impl DefaultBudget {
    /// The budget as it is in a NodePool.
    pub fn to_value(&self) -> Value {
        match &self.window {
            None => json!({"nodes": self.nodes}),
            Some(BudgetWindow { schedule, duration }) => {
                json!({"nodes": self.nodes, "schedule": schedule, "duration": duration})
            }
        }
    }
}

impl DefaultValues {
    /// The default `budgets` as they are in a NodePool.
    pub fn budgets_value(&self) -> Value {
        self.budgets.iter().map(DefaultBudget::to_value).collect()
    }
}

impl Default for DefaultValues {
    fn default() -> Self {
        Self {
            budgets: vec![DefaultBudget {
                nodes: "10%".into(),
                window: None,
            }],
            consolidation_policy: "WhenEmptyOrUnderutilized".into(),
            consolidate_after: "0s".into(),
            node_limit_mode: NodeLimitMode::Hard,
        }
    }
}
