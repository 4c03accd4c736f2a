//! A tolerant, borrowed view of `spec.template`: what the nodes of a pool look like.

use serde_json::{Map, Value};

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
    /// `key`.
    pub key: Field<&'a str>,
    /// `operator`.
    pub operator: Field<&'a str>,
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

    pub(super) fn view(template: Option<&'a Map<String, Value>>) -> Self {
        let spec = child(template, "spec");
        Self {
            labels: Field::map_in(child(template, "metadata"), "labels"),
            requirements: Field::list_in(spec, "requirements").map(|list| {
                objects(list)
                    .map(|(_, requirement)| Requirement::view(requirement))
                    .collect()
            }),
            node_class_ref: Field::map_in(spec, "nodeClassRef"),
        }
    }
}

impl<'a> Requirement<'a> {
    fn view(requirement: &'a Map<String, Value>) -> Self {
        Self {
            key: Field::text(requirement, "key"),
            operator: Field::text(requirement, "operator"),
        }
    }
}
