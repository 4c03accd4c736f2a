//! A tolerant, borrowed view of a NodePool: v1 and v1beta1 in one model.

use serde_json::{Map, Value};

use super::{ApiVersion, Field};
use crate::diagnostic::FieldPath;

/// A NodePool as far as defaults and rules look at it, borrowed from the JSON as it came.
#[derive(Debug)]
pub struct NodePool<'a> {
    /// The version it is written in.
    pub version: ApiVersion,
    /// `metadata.annotations`.
    pub annotations: Field<&'a Map<String, Value>>,
    /// `spec`.
    pub spec: Field<&'a Map<String, Value>>,
    /// `spec.disruption`.
    pub disruption: Field<Disruption<'a>>,
    /// `spec.limits`.
    pub limits: Field<&'a Map<String, Value>>,
    /// `spec.template`; empty where it is missing.
    pub template: Template<'a>,
}

/// `spec.disruption`.
#[derive(Debug)]
pub struct Disruption<'a> {
    /// `budgets`: those elements that are objects.
    pub budgets: Field<Vec<Budget<'a>>>,
    /// `consolidationPolicy`.
    pub consolidation_policy: Field<&'a str>,
    /// `consolidateAfter`.
    pub consolidate_after: Field<&'a str>,
    /// `nodeLimitMode`.
    pub node_limit_mode: Field<&'a str>,
}

/// One element of `spec.disruption.budgets`.
#[derive(Debug)]
pub struct Budget<'a> {
    /// Its place in the list, from 0.
    pub index: usize,
    /// `nodes`.
    pub nodes: Field<&'a str>,
    /// `schedule`.
    pub schedule: Field<&'a str>,
    /// `duration`.
    pub duration: Field<&'a str>,
}

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

impl<'a> NodePool<'a> {
    /// Views an object as a NodePool, whatever it is.
    pub fn view(version: ApiVersion, object: &'a Value) -> Self {
        let metadata = child(object.as_object(), "metadata");
        let spec = child(object.as_object(), "spec");
        Self {
            version,
            annotations: Field::map_in(metadata, "annotations"),
            spec: Field::map_in(object.as_object(), "spec"),
            disruption: Field::map_in(spec, "disruption").map(Disruption::view),
            limits: Field::map_in(spec, "limits"),
            template: Template::view(child(spec, "template")),
        }
    }
}

impl<'a> Disruption<'a> {
    /// The path of a field of `spec.disruption`.
    pub fn path(field: &'static str) -> FieldPath {
        FieldPath::of(&["spec", "disruption", field])
    }

    fn view(disruption: &'a Map<String, Value>) -> Self {
        Self {
            budgets: Field::list(disruption, "budgets").map(|list| {
                objects(list)
                    .map(|(index, budget)| Budget::view(index, budget))
                    .collect()
            }),
            consolidation_policy: Field::text(disruption, "consolidationPolicy"),
            consolidate_after: Field::text(disruption, "consolidateAfter"),
            node_limit_mode: Field::text(disruption, "nodeLimitMode"),
        }
    }
}

impl<'a> Budget<'a> {
    /// The path of a field of this budget.
    pub fn path(&self, field: &'static str) -> FieldPath {
        Disruption::path("budgets").index(self.index).key(field)
    }

    fn view(index: usize, budget: &'a Map<String, Value>) -> Self {
        Self {
            index,
            nodes: Field::text(budget, "nodes"),
            schedule: Field::text(budget, "schedule"),
            duration: Field::text(budget, "duration"),
        }
    }
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

    fn view(template: Option<&'a Map<String, Value>>) -> Self {
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

fn child<'a>(of: Option<&'a Map<String, Value>>, key: &str) -> Option<&'a Map<String, Value>> {
    of?.get(key)?.as_object()
}

fn objects(list: &[Value]) -> impl Iterator<Item = (usize, &Map<String, Value>)> {
    list.iter()
        .enumerate()
        .filter_map(|(index, element)| Some((index, element.as_object()?)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_view_can_be_made_of_anything() {
        for object in [
            json!(null),
            json!([1]),
            json!({"spec": 5}),
            json!({"spec": {"disruption": []}}),
        ] {
            let pool = NodePool::view(ApiVersion::V1, &object);
            assert!(pool.limits.is_absent());
            assert!(pool.disruption.present().is_none());
        }
    }

    #[test]
    fn elements_keep_their_place_when_a_neighbour_is_of_the_wrong_type() {
        let object = json!({"spec": {"disruption": {"budgets": [7, {"nodes": 5}, {"nodes": "1"}]}}});
        let pool = NodePool::view(ApiVersion::V1, &object);
        let budgets = pool.disruption.present().unwrap().budgets.present().unwrap();
        assert_eq!(budgets.len(), 2);
        assert_eq!(budgets[0].nodes, Field::Mistyped);
        assert_eq!(
            budgets[1].path("nodes").to_string(),
            "spec.disruption.budgets[2].nodes"
        );
    }
}
