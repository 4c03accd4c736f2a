//! Which pods a pool's nodes could serve, as far as its template says.

use super::pod::Needs;
use super::taints::{Effect, Taint, tolerated};
use crate::json::Json;
use crate::karpenter::{
    HOSTNAME_LABEL, LabelKind, LabelSets, NODEPOOL_LABEL, Operator, Provider, Template, canonical_label,
    selection_of,
};

/// Properties of new nodes of a pool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeTemplate {
    /// What their labels must be, under the names that Karpenter uses.
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
        let group = template.node_class_group();
        let provider = group.and_then(Provider::of_group);
        let require = |key: &str, operator, values: Vec<&str>| Requirement {
            key: canonical_label(key, provider).to_owned(),
            operator,
            values: values.into_iter().map(str::to_owned).collect(),
        };
        let labels = template.labels.present().into_iter().flatten();
        let labels = labels.filter_map(|(key, value)| Some((key, value.as_str()?)));
        let labels = labels
            .chain([(NODEPOOL_LABEL, pool)])
            .map(|(key, value)| require(key, Operator::In, vec![value]));
        let listed = template.requirements().iter().filter_map(|requirement| {
            let values = requirement.values.present().unwrap_or_default();
            Some(require(
                requirement.key.present()?,
                Operator::parse(requirement.operator.present()?)?,
                values.iter().filter_map(Json::as_str).collect(),
            ))
        });
        let taints = template.taints.as_ref().present().into_iter().flatten();
        Self {
            requirements: labels.chain(listed).collect(),
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
            group: group.map(str::to_owned),
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
        let provider = self.group.as_deref().and_then(Provider::of_group);
        let key = canonical_label(key, provider);
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
            selection_of(key, demand.operator, &values, provider).has(value)
        })
    }
}
