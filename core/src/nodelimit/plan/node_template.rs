//! Which pods a pool's nodes could serve, as far as its template says.

use std::collections::BTreeMap;

use super::pod::Needs;
use super::taints::{Effect, Taint, tolerated};
use crate::json::Json;
use crate::karpenter::{HOSTNAME_LABEL, LabelKind, LabelSets, NODEPOOL_LABEL, Operator, Selection, Template};

/// Properties of new nodes of a pool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeTemplate {
    /// Labels that each of them has.
    pub labels: BTreeMap<String, String>,
    /// What other labels must be.
    pub requirements: Vec<Requirement>,
    /// Taints that stay on them.
    pub taints: Vec<Taint>,
    /// The labels that Karpenter and the provider know.
    pub known: LabelSets,
    /// The API group of the node class.
    pub group: Option<String>,
}

/// What a template or a selector requires of a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// The key of the label.
    pub key: String,
    /// How it relates to the values.
    pub operator: Operator,
    /// The values that the operator compares the label with; empty for `Exists` and `DoesNotExist`.
    pub values: Vec<String>,
}

impl NodeTemplate {
    /// Reads a pool's template. What cannot be read is skipped.
    pub fn new(pool: &str, template: &Template<'_>, known: &LabelSets) -> Self {
        let labels = template.labels.present().into_iter().flatten();
        let own = (NODEPOOL_LABEL.to_owned(), pool.to_owned());
        let labels = labels
            .filter_map(|(key, value)| Some((key.to_owned(), value.as_str()?.to_owned())))
            .chain([own])
            .collect();
        let requirements = template.requirements().iter();
        let taints = template.taints.as_ref().present().into_iter().flatten();
        Self {
            labels,
            requirements: requirements
                .filter_map(|requirement| {
                    let values = requirement.values.present().unwrap_or_default();
                    Some(Requirement {
                        key: requirement.key.present()?.to_owned(),
                        operator: Operator::parse(requirement.operator.present()?)?,
                        values: values
                            .iter()
                            .filter_map(Json::as_str)
                            .map(str::to_owned)
                            .collect(),
                    })
                })
                .collect(),
            taints: taints
                .filter_map(|taint| {
                    Some(Taint {
                        key: taint.key.present()?.to_owned(),
                        value: taint.value.present().unwrap_or_default().to_owned(),
                        effect: Effect::parse(taint.effect.present()?)?,
                    })
                })
                .collect(),
            known: known.clone(),
            group: template.node_class_group().map(str::to_owned),
        }
    }

    /// Whether a new node of the pool might take a pod. True if that cannot be determined.
    pub(crate) fn could_serve(&self, needs: &Needs) -> bool {
        tolerated(&self.taints, &needs.tolerations)
            && needs
                .node_selector
                .iter()
                .all(|(key, value)| self.could_have(key, value))
    }

    fn could_have(&self, key: &str, value: &str) -> bool {
        if let Some(own) = self.labels.get(key) {
            return own == value;
        }
        let mut demands = self
            .requirements
            .iter()
            .filter(|demand| demand.key == key)
            .peekable();
        if demands.peek().is_none() {
            let kind = self.known.kind_of(key, self.group.as_deref());
            return key != HOSTNAME_LABEL && !matches!(kind, LabelKind::Custom | LabelKind::Foreign(_));
        }
        demands.all(|demand| {
            let values: Vec<&str> = demand.values.iter().map(String::as_str).collect();
            Selection::new(demand.operator, &values).has(value)
        })
    }
}
