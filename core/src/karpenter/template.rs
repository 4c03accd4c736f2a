//! A tolerant, borrowed view of `spec.template`: what the nodes of a pool look like.

use serde_json::{Map, Number, Value};

use super::Field;
use super::field::{child, objects};
use crate::diagnostic::FieldPath;

/// `spec.template`.
#[derive(Debug)]
pub struct Template<'a> {
    /// `metadata.labels`.
    pub labels: Field<&'a Map<String, Value>>,
    /// `spec.requirements`: those elements that are objects.
    pub requirements: Field<Vec<Requirement<'a>>>,
    /// `spec.nodeClassRef`.
    pub node_class_ref: Field<&'a Map<String, Value>>,
}

/// One element of `spec.template.spec.requirements`.
#[derive(Debug)]
pub struct Requirement<'a> {
    /// Its place in the list.
    pub index: usize,
    /// `key`.
    pub key: Field<&'a str>,
    /// `operator`.
    pub operator: Field<&'a str>,
    /// `values`.
    pub values: Field<&'a [Value]>,
    /// `minValues`.
    pub min_values: Field<&'a Number>,
}

impl<'a> Template<'a> {
    /// The path of `spec.template.metadata.labels`.
    pub fn labels_path() -> FieldPath {
        FieldPath::of(&["spec", "template", "metadata", "labels"])
    }

    /// The path of `spec.template.spec.requirements`.
    pub fn requirements_path() -> FieldPath {
        FieldPath::of(&["spec", "template", "spec", "requirements"])
    }

    /// The API group of the node class: `group` in v1, the part of `apiVersion` before the slash in v1beta1.
    pub fn node_class_group(&self) -> Option<&'a str> {
        let reference = self.node_class_ref.present()?;
        let text = |field: &str| reference.get(field).and_then(Value::as_str);
        let group = text("group").or_else(|| text("apiVersion"))?;
        group.split('/').next().filter(|group| !group.is_empty())
    }

    pub(super) fn view(template: Option<&'a Map<String, Value>>) -> Self {
        let spec = child(template, "spec");
        Self {
            labels: Field::map_in(child(template, "metadata"), "labels"),
            requirements: Field::list_in(spec, "requirements").map(|list| {
                objects(list)
                    .map(|(index, requirement)| Requirement::view(index, requirement))
                    .collect()
            }),
            node_class_ref: Field::map_in(spec, "nodeClassRef"),
        }
    }
}

impl<'a> Requirement<'a> {
    fn view(index: usize, requirement: &'a Map<String, Value>) -> Self {
        Self {
            index,
            key: Field::text(requirement, "key"),
            operator: Field::text(requirement, "operator"),
            values: Field::list(requirement, "values"),
            min_values: Field::number(requirement, "minValues"),
        }
    }
}
