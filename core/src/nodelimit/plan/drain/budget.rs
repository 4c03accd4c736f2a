//! A `PodDisruptionBudget`, as the eviction API reads it.

use std::collections::BTreeMap;

use super::{NamespacedName, PodOnNode};
use crate::karpenter::Operator;
use crate::nodelimit::plan::node_template::Requirement;

/// A `PodDisruptionBudget`. One that is being deleted counts like any other, as long as it exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodDisruptionBudget {
    /// Its name and namespace; it selects pods of that namespace only.
    pub name: NamespacedName,
    /// `spec.selector`, `matchLabels` as requirements too. An empty one selects every pod of the namespace, and `None`
    /// selects none.
    pub selector: Option<Vec<Requirement>>,
    /// `metadata.generation`: counts the changes of its `spec`.
    pub generation: i64,
    /// `status.observedGeneration`: the generation that its `status` was computed from.
    pub observed_generation: i64,
    /// `status.disruptionsAllowed`: how many of its pods may be evicted now.
    pub disruptions_allowed: i64,
}

impl PodDisruptionBudget {
    /// Whether a drain needs one of its evictions for this pod.
    pub fn covers(&self, pod: &PodOnNode) -> bool {
        self.name.namespace == pod.name.namespace
            && pod.is_evicted()
            && self.selector.as_ref().is_some_and(|selector| {
                selector
                    .iter()
                    .all(|requirement| is_met(requirement, &pod.labels))
            })
    }

    /// How many evictions it allows; `None` if its status is older than its spec.
    pub(crate) fn allowed(&self) -> Option<usize> {
        let is_current = self.observed_generation >= self.generation;
        is_current.then(|| usize::try_from(self.disruptions_allowed).unwrap_or(0))
    }
}

fn is_met(requirement: &Requirement, labels: &BTreeMap<String, String>) -> bool {
    let value = labels.get(&requirement.key);
    let is_listed = value.is_some_and(|value| requirement.values.contains(value));
    match requirement.operator {
        Operator::In => is_listed,
        Operator::NotIn => !is_listed,
        Operator::Exists => value.is_some(),
        Operator::DoesNotExist => value.is_none(),
        // No selector has them. If one had, it is better to take the pod for covered.
        Operator::Gt | Operator::Lt | Operator::Gte | Operator::Lte => true,
    }
}
