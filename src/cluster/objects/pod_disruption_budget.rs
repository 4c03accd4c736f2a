//! PodDisruptionBudgets.

use poolgate_core::facts::Operator;
use poolgate_core::nodelimit::plan::{NamespacedName, PodDisruptionBudget};
use poolgate_core::pods::{Expression, LabelRequirement};
use serde::Deserialize;

use super::{Metadata, Object, Texts};

/// The fields of a PodDisruptionBudget that are read.
pub type BudgetObject = Object<Metadata, Spec, Status>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
    selector: Option<Selector>,
    unhealthy_pod_eviction_policy: Option<Box<str>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Selector {
    match_labels: Texts,
    match_expressions: Option<Vec<Expression>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    observed_generation: i64,
    disruptions_allowed: i64,
    current_healthy: i64,
    desired_healthy: i64,
}

impl BudgetObject {
    /// The part that a drain depends on.
    pub fn budget(self) -> PodDisruptionBudget {
        PodDisruptionBudget {
            name: NamespacedName {
                namespace: self.metadata.namespace,
                name: self.metadata.name,
            },
            selector: self.spec.selector.map(Selector::requirements),
            generation: self.metadata.generation.unwrap_or_default(),
            observed_generation: self.status.observed_generation,
            disruptions_allowed: self.status.disruptions_allowed,
            current_healthy: self.status.current_healthy,
            desired_healthy: self.status.desired_healthy,
            lets_unready_go: self.spec.unhealthy_pod_eviction_policy.as_deref() == Some("AlwaysAllow"),
        }
    }
}

impl Selector {
    fn requirements(self) -> Vec<LabelRequirement> {
        let labels = self.match_labels.into_iter().flatten();
        let labels = labels.map(|(key, value)| LabelRequirement {
            key,
            operator: Operator::In,
            values: vec![value],
        });
        // Omitted requirements count as met, because assuming a pod to be covered is safer.
        let expressions = self.match_expressions.into_iter().flatten();
        let expressions = expressions.filter_map(|expression| expression.read().ok());
        labels.chain(expressions).collect()
    }
}
