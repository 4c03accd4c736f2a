//! The values that admission writes if a NodePool leaves them out.

use serde_json::{Map, Value, json};

use super::kinds::{List, karpenter_word, word};
use super::record::{At, Fields, Record, object};
use super::texts::{BUDGET_DURATION, BUDGET_NODES, DURATION_OR_NEVER, SCHEDULE};
use crate::api::NodeLimitMode;
use crate::facts::ApiVersion;
use crate::facts::shape::nodepool;

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

impl Record for DefaultValues {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let built_in = Self::default();
        let about = "spec.disruption.budgets. Default: one budget of 10%.";
        let budgets = fields.optional("budgets", &List(1, object::<DefaultBudget>()), about);
        let policies = karpenter_word(nodepool(ApiVersion::V1).at("spec.disruption.consolidationPolicy"));
        let about = "spec.disruption.consolidationPolicy of v1. Default: WhenEmptyOrUnderutilized.";
        let consolidation_policy = fields.optional("consolidationPolicy", &policies, about);
        let about = "spec.disruption.consolidateAfter of v1. Default: 0s.";
        let consolidate_after = fields.optional("consolidateAfter", &DURATION_OR_NEVER, about);
        let modes = word(NodeLimitMode::VALUES, NodeLimitMode::parse);
        let about = "spec.disruption.nodeLimitMode. Default: Hard.";
        let node_limit_mode = fields.optional("nodeLimitMode", &modes, about);
        Some(Self {
            budgets: budgets.map_or(built_in.budgets, |budgets| {
                budgets.into_iter().map(|DefaultBudget(budget)| budget).collect()
            }),
            consolidation_policy: consolidation_policy.unwrap_or(built_in.consolidation_policy),
            consolidate_after: consolidate_after.unwrap_or(built_in.consolidate_after),
            node_limit_mode: node_limit_mode.unwrap_or(built_in.node_limit_mode),
        })
    }
}

/// A budget as it is in a NodePool: all its fields are strings, but for the list of reasons.
struct DefaultBudget(Value);

impl Record for DefaultBudget {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let about = "How many nodes may be disrupted simultaneously: a number or a percentage, as a string.";
        let nodes = fields.required("nodes", &BUDGET_NODES, about);
        let reasons = List(
            1,
            karpenter_word(nodepool(ApiVersion::V1).at("spec.disruption.budgets[].reasons[]")),
        );
        let about = "The reasons that it limits. Default: every reason, from Karpenter 1.15 on also the repair of broken nodes. \
                     In v1beta1 a budget limits every reason.";
        let reasons = fields.optional("reasons", &reasons, about);
        let about = "The start of the window in which the budget is active, in UTC.";
        let schedule = fields.optional("schedule", &SCHEDULE, about);
        let duration = fields.optional("duration", &BUDGET_DURATION, "The length of the window.");
        // The rules for NodePools check this as well, but not everywhere half a window is a default.
        let missing = match (fields.has("schedule"), fields.has("duration")) {
            (false, true) => Some("schedule"),
            (true, false) => Some("duration"),
            _ => None,
        };
        if let Some(missing) = missing {
            let wrong = format!("{missing} is missing, but a window requires schedule and duration");
            fields.report(
                Some(missing),
                At::Value,
                &wrong,
                "add it, or remove the other one",
            );
        }
        let fields = [
            ("nodes", Some(nodes?.into())),
            ("reasons", reasons.map(Value::from)),
            ("schedule", schedule.map(|schedule| schedule.text.into())),
            ("duration", duration.map(|duration| duration.text.into())),
        ];
        let present = fields
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Some(Self(Value::Object(present.collect::<Map<_, _>>())))
    }
}
