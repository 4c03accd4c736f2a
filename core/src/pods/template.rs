//! What a NodePool makes of its template: labels and taints of new nodes.

use std::collections::BTreeMap;

use super::{Effect, LabelRequirement, NodeTaint};
use crate::diagnostic::FieldPath;
use crate::facts::{
    KarpenterVersion, LabelSets, NODEPOOL_LABEL, Operator, Provider, Selection, as_read, canonical_label,
};
use crate::json::Json;
use crate::policy::Policy;
use crate::pool::Template;

/// Properties of new nodes of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeTemplate {
    /// What their labels must be, under the names that Karpenter uses.
    pub requirements: Vec<Offered>,
    /// Of how many values of a label Karpenter must find instance types.
    pub min_values: Vec<(String, usize)>,
    /// Taints that stay on them.
    pub taints: Vec<NodeTaint>,
    /// The labels that Karpenter and the provider know.
    pub known: LabelSets,
    /// The API group of the node class.
    pub group: Option<String>,
    /// Karpenter's release.
    pub release: KarpenterVersion,
}

/// A requirement of a pool, and the path below the NodePool where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    /// The path; that of the name for the label that Karpenter derives from it.
    pub at: FieldPath,
    /// What is required.
    pub requirement: LabelRequirement,
}

/// What is required of each label.
pub(super) type Required<'r> = BTreeMap<&'r str, Selection<'r>>;

/// Whether labels that both require may be the same.
// karpenter: pkg/scheduling/requirements.go Requirements.Intersects
pub(super) fn meet(one: &Required<'_>, other: &Required<'_>) -> bool {
    let mut both = one.iter().filter_map(|(key, one)| Some((one, other.get(key)?)));
    both.all(|(one, other)| one.meets(other))
}

impl NodeTemplate {
    /// Reads a pool's template. What cannot be read is skipped.
    // karpenter: pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go NewNodeClaimTemplate
    pub fn new(pool: &str, template: &Template<'_>, policy: &Policy) -> Self {
        let (group, provider) = (template.node_class_group(), template.provider());
        let require = |at: FieldPath, key: &str, operator, values: Vec<&str>| Offered {
            at,
            requirement: LabelRequirement {
                key: canonical_label(key, provider).to_owned(),
                operator,
                values: values.into_iter().map(str::to_owned).collect(),
            },
        };
        let is = |at, key: &str, value| require(at, key, Operator::In, vec![value]);
        let labels = template.labels.present().into_iter().flatten();
        let labels = labels.filter_map(|(key, value)| {
            Some(is(
                Template::labels_path().key(key.to_owned()),
                key,
                value.as_str()?,
            ))
        });
        let own = is(name_path(), NODEPOOL_LABEL, pool);
        let release = policy.cluster.target().unwrap_or_default().release();
        let is_labelled = release.has(KarpenterVersion::NODE_CLASS_LABELLED);
        let class = template.node_class_label().filter(|_| is_labelled);
        let class = class.zip(template.node_class());
        let class = class.map(|(key, (_, _, name))| is(class_path(), &key, name));
        let listed = template.requirements().iter().filter_map(|requirement| {
            let values = requirement.values.present().unwrap_or_default();
            Some(require(
                Template::requirements_path().index(requirement.index),
                requirement.key.present()?,
                Operator::parse(requirement.operator.present()?)?,
                values.iter().filter_map(Json::as_str).collect(),
            ))
        });
        let least = template.requirements().iter().filter_map(|requirement| {
            let key = canonical_label(requirement.key.present()?, provider).to_owned();
            Some((
                key,
                usize::try_from(requirement.min_values.present()?.as_u64()?).ok()?,
            ))
        });
        let taints = template.taints.as_ref().present().into_iter().flatten();
        Self {
            requirements: labels.chain([own]).chain(class).chain(listed).collect(),
            min_values: least.collect(),
            taints: taints
                .filter_map(|taint| {
                    Some(NodeTaint {
                        key: taint.key.present()?.to_owned(),
                        value: taint.value.present().unwrap_or_default().to_owned(),
                        effect: Effect::parse(taint.effect.present()?)?,
                    })
                })
                .collect(),
            known: policy.labels.clone(),
            group: group.map(str::to_owned),
            release,
        }
    }

    /// Whether a label has the name of the pool or of its node class, which no machine has.
    pub(super) fn names_itself_by(&self, key: &str) -> bool {
        let mut own = self.requirements.iter().filter(|one| one.requirement.key == key);
        own.any(|one| [name_path(), class_path()].contains(&one.at))
    }

    /// What requirements together allow of each label, by the name that Karpenter uses.
    pub(super) fn required<'r>(&self, requirements: &'r [LabelRequirement]) -> Required<'r> {
        let mut each: BTreeMap<&str, Vec<Selection<'_>>> = BTreeMap::new();
        for requirement in requirements {
            let key = canonical_label(&requirement.key, self.provider());
            each.entry(key).or_default().push(self.selection(requirement));
        }
        let together = each.into_iter().map(|(key, each)| (key, Selection::all(each)));
        together.collect()
    }

    /// What a requirement allows, by the provider's release that allows most.
    pub(super) fn selection<'r>(&self, requirement: &'r LabelRequirement) -> Selection<'r> {
        let key = canonical_label(&requirement.key, self.provider());
        as_read(key, requirement.selection(), self.provider())
    }

    pub(super) fn provider(&self) -> Option<&'static Provider> {
        self.group.as_deref().and_then(Provider::of_group)
    }
}

fn name_path() -> FieldPath {
    FieldPath::of(&["metadata", "name"])
}

fn class_path() -> FieldPath {
    Template::path("nodeClassRef").key("name")
}
