//! A tolerant, borrowed view of `spec.template` of a NodePool: the description of its nodes.

use serde_json::Number;

use super::door::{self, Door};
use super::field::child;
use super::taint::{Taint, TaintList};
use super::{Field, Map};
use crate::diagnostic::{FieldPath, Segment};
use crate::facts::{
    ApiVersion, DO_NOT_DISRUPT_ANNOTATION, Operator, Provider, ProviderSettings, Selection, integer,
};
use crate::json::{Json, Object};
use crate::value::label::split_key;

/// `spec.template` of a NodePool.
#[derive(Debug)]
pub struct Template<'a> {
    /// The version that the NodePool is written in.
    pub version: ApiVersion,
    /// `metadata.labels`: labels of the nodes, not of the pool.
    pub labels: Field<Map<'a>>,
    /// `metadata.annotations`: annotations of the nodes, not of the pool.
    pub annotations: Field<Map<'a>>,
    /// `spec.requirements`: those elements that are objects.
    pub requirements: Field<Vec<Requirement<'a>>>,
    /// `spec.nodeClassRef`: the provider's object with images, networks and the like.
    pub(crate) node_class_ref: Field<&'a Object<'a>>,
    /// `spec.taints`: those elements that are objects.
    pub taints: Field<Vec<Taint<'a>>>,
    /// `spec.startupTaints`: those elements that are objects.
    pub(crate) startup_taints: Field<Vec<Taint<'a>>>,
    /// `spec.terminationGracePeriod`: how long a node may take to drain.
    pub termination_grace_period: Field<&'a str>,
    /// `spec.kubelet`. Only v1beta1 knows it.
    pub kubelet: Field<&'a Object<'a>>,
    /// The maps in it, in the order of [`door::KUBELET`].
    pub(crate) kubelet_maps: [Field<Map<'a>>; door::KUBELET.len()],
    /// `spec.resources`. Only v1beta1 knows it.
    pub resources: Field<&'a Object<'a>>,
}

/// One element of `spec.template.spec.requirements`.
#[derive(Debug)]
pub struct Requirement<'a> {
    /// Its index in the list.
    pub index: usize,
    /// `key`: the label that is required.
    pub key: Field<&'a str>,
    /// `operator`: one of [`Operator`] as a word.
    pub operator: Field<&'a str>,
    /// `values`: what the operator compares the label with.
    pub values: Field<&'a [Json<'a>]>,
    /// `minValues`: of how many different values Karpenter must find instance types.
    pub(crate) min_values: Field<&'a Number>,
}

impl<'a> Requirement<'a> {
    /// What it allows; `None` if any part of it cannot be read.
    pub fn selection(&self) -> Option<Selection<'a>> {
        let operator = Operator::parse(self.operator.present()?)?;
        let values = if self.values.is_absent() {
            &[]
        } else {
            *self.values.as_ref().present()?
        };
        let values: Vec<&str> = values.iter().map(Json::as_str).collect::<Option<_>>()?;
        let is_number = || values.first().is_some_and(|value| integer(value).is_some());
        (!operator.is_numeric() || is_number()).then(|| Selection::new(operator, &values))
    }
}

impl<'a> Template<'a> {
    /// The group, kind and name of the node class; `None` unless all are present.
    pub fn node_class(&self) -> Option<(&'a str, &'a str, &'a str)> {
        let reference = self.node_class_ref.present()?;
        let text = |field: &str| reference.get(field).and_then(Json::as_str);
        Some((self.node_class_group()?, text("kind")?, text("name")?))
    }

    /// The taints of both lists.
    pub(crate) fn all_taints(&self) -> impl Iterator<Item = &Taint<'a>> {
        let lists = [&self.taints, &self.startup_taints];
        lists
            .into_iter()
            .filter_map(|list| list.as_ref().present())
            .flatten()
    }

    /// The requirements that are objects; none if the list is missing or has the wrong type.
    pub fn requirements(&self) -> &[Requirement<'a>] {
        self.requirements.as_ref().present().map_or(&[], Vec::as_slice)
    }

    /// Whether its nodes get the annotation that keeps Karpenter from disrupting them: drift, too, leaves them alone.
    // karpenter: pkg/controllers/state/statenode.go StateNode.ValidateNodeDisruptable
    pub(crate) fn protects_nodes(&self) -> bool {
        let annotations = self.annotations.present();
        let value = annotations.and_then(|annotations| annotations.get(DO_NOT_DISRUPT_ANNOTATION));
        value.and_then(Json::as_str) == Some("true")
    }

    /// Whether a change of this field of a NodePool, alone or in a list, makes Karpenter replace all its nodes: the hash by
    /// which it finds drift is that of the template without its requirements (`Hash` of `pkg/apis/v1/nodepool.go`).
    // karpenter: pkg/apis/v1/nodepool.go NodePool.Hash
    pub fn is_hashed(path: &FieldPath) -> bool {
        let begins = |segments: &[Segment], keys: [&str; 2]| {
            let is_key =
                |(segment, key): (&Segment, &str)| matches!(segment, Segment::Key(own) if own == key);
            segments.len() >= 2 && segments.iter().zip(keys).all(is_key)
        };
        let all = path.segments();
        let mut rests = (0..all.len()).filter_map(|at| all.get(at..));
        let template = rests.find(|rest| begins(rest, ["spec", "template"]));
        let within = template.and_then(|rest| rest.get(2..));
        within.is_some_and(|within| !begins(within, ["spec", "requirements"]))
    }

    /// The path of a field below `spec.template.spec`.
    pub(crate) fn path(field: &'static str) -> FieldPath {
        FieldPath::of(&["spec", "template", "spec", field])
    }

    /// The path of a field below `spec.template.metadata`.
    pub(crate) fn metadata_path(field: &'static str) -> FieldPath {
        FieldPath::of(&["spec", "template", "metadata", field])
    }

    /// The path of the labels.
    pub(crate) fn labels_path() -> FieldPath {
        Self::metadata_path("labels")
    }

    /// The path of the requirements.
    pub(crate) fn requirements_path() -> FieldPath {
        Self::path("requirements")
    }

    /// The key of the label in which Karpenter records the node class on NodeClaims and Nodes.
    // karpenter: pkg/apis/v1/labels.go NodeClassLabelKey
    pub(crate) fn node_class_label(&self) -> Option<String> {
        let reference = self.node_class_ref.present()?;
        let kind = reference.get("kind").and_then(Json::as_str)?;
        let group = self.node_class_group()?;
        Some(format!("{group}/{}", kind.to_ascii_lowercase()))
    }

    /// The API group of the node class: `group` in v1, the part of `apiVersion` before the slash in v1beta1.
    pub fn node_class_group(&self) -> Option<&'a str> {
        let reference = self.node_class_ref.present()?;
        let text = |field: &str| reference.get(field).and_then(Json::as_str);
        let group = text("group").or_else(|| text("apiVersion"))?;
        let group = split_key(group).map_or(group, |(group, _)| group);
        Some(group).filter(|group| !group.is_empty())
    }

    /// The provider of its machines, if there is data on it: that of its node class, or else the one that is declared.
    pub fn provider_or(&self, declared: Option<&'static Provider>) -> Option<&'static Provider> {
        self.node_class_group().map_or(declared, Provider::of_group)
    }

    /// The provider of its machines, if its node class shows one on which there is data.
    pub fn provider(&self) -> Option<&'static Provider> {
        self.provider_or(None)
    }

    /// What the provider sets; without one, what Karpenter does.
    pub fn settings(&self) -> &'static ProviderSettings {
        let provider = self.provider();
        provider.map_or(&ProviderSettings::KARPENTER, |provider| &provider.settings)
    }

    pub(crate) fn view(version: ApiVersion, template: Option<&'a Object<'a>>, door: &mut Door<'a>) -> Self {
        let metadata = child(template, "metadata");
        let spec = child(template, "spec");
        let (kubelet, resources) = (child(spec, "kubelet"), child(spec, "resources"));
        if kubelet.is_some() || resources.is_some() {
            let _ = door.list(kubelet, &door::CLUSTER_DNS);
            let _ = door.map(resources, &door::RESOURCES);
        }
        Self {
            version,
            labels: door.map(metadata, &door::TEMPLATE_LABELS),
            annotations: door.map(metadata, &door::TEMPLATE_ANNOTATIONS),
            requirements: door
                .list(spec, &door::REQUIREMENTS)
                .views(|index, one| Requirement::view(index, one, door)),
            node_class_ref: Field::map_in(spec, "nodeClassRef"),
            taints: door
                .list(spec, &door::TAINTS)
                .views(|index, taint| Taint::view(TaintList::Taints, index, taint)),
            startup_taints: door
                .list(spec, &door::STARTUP_TAINTS)
                .views(|index, taint| Taint::view(TaintList::StartupTaints, index, taint)),
            termination_grace_period: Field::text(spec, "terminationGracePeriod"),
            kubelet: Field::map_in(spec, "kubelet"),
            kubelet_maps: door::KUBELET.each_ref().map(|entries| door.map(kubelet, entries)),
            resources: Field::map_in(spec, "resources"),
        }
    }
}

impl<'a> Requirement<'a> {
    fn view(index: usize, requirement: &'a Object<'a>, door: &mut Door<'a>) -> Self {
        Self {
            index,
            key: Field::text(requirement, "key"),
            operator: Field::text(requirement, "operator"),
            values: door.list_in(index, Some(requirement), &door::VALUES),
            min_values: Field::number(requirement, "minValues"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_the_template_but_its_requirements_is_hashed() {
        let labels = Template::labels_path().key("team");
        let in_list = FieldPath::of(&["items"])
            .index(1)
            .key("spec")
            .key("template")
            .key("metadata");
        for hashed in [Template::path("taints").index(0).key("key"), labels, in_list] {
            assert!(Template::is_hashed(&hashed), "{hashed}");
        }
        for free in [
            Template::requirements_path().index(0).key("key"),
            FieldPath::of(&["spec", "limits", "cpu"]),
            FieldPath::of(&["spec"]),
            FieldPath::root(),
        ] {
            assert!(!Template::is_hashed(&free), "{free}");
        }
    }
}
