//! Reports fields that the API does not know, and suggests what was probably meant.

use super::findings::Findings;
use super::moved;
use crate::diagnostic::{Edit, ErrorType, FieldPath, MAX_KEPT, Segment, Suggestion, nearest};
use crate::json::Json;
use crate::karpenter::ApiVersion;
use crate::karpenter::shape::{Fields, Shape, nodepool};
use crate::rules::rule::Rule;

pub static FIELD_UNKNOWN: Rule = rule!("field-unknown", Error, [Schema]);

/// What is needed to suggest the right spelling of an unknown field.
#[derive(Debug)]
pub struct Spelling {
    version: ApiVersion,
    pub root: &'static Shape,
    guesses: usize,
}

impl Spelling {
    /// For a NodePool of this version.
    pub fn of(version: ApiVersion) -> Self {
        Self {
            version,
            root: nodepool(version),
            guesses: 0,
        }
    }

    /// What to write instead. A guess is the slowest part of a check, so only as many are made as are reported.
    fn suggest(
        &mut self,
        object: &Json<'_>,
        path: &FieldPath,
        name: &str,
        known: Fields,
    ) -> Option<Suggestion> {
        self.guesses += 1;
        if self.guesses > MAX_KEPT {
            return None;
        }
        let names = || known.iter().map(|(known, _)| *known);
        let has = |field: &str| names().any(|known| known == field);
        let same = names().find(|known| known.eq_ignore_ascii_case(name));
        let suggestion = match moved::what_became_of(path, name, self.version, has) {
            Some(moved) => Suggestion::from(moved),
            None => nearest(name, names())
                .map(Suggestion::did_you_mean)
                .or_else(|| self.elsewhere(name).map(Suggestion::did_you_mean))?,
        };
        let same = same.map(|known| Edit::Rename(known.to_owned()));
        Some(suggestion.with(same.or_else(|| self.of_node_class(object, path, name))))
    }

    /// What becomes of the group of a node class under its old names: with the version, as in v1beta1, or as elsewhere in
    /// Kubernetes. Beside a `group` it says nothing new.
    fn of_node_class(&self, object: &Json<'_>, path: &FieldPath, name: &str) -> Option<Edit> {
        let holder = path.parent()?;
        let is_reference =
            matches!(holder.segments().last(), Some(Segment::Key(key)) if key == "nodeClassRef");
        if self.version != ApiVersion::V1 || !is_reference || !["apiVersion", "apiGroup"].contains(&name) {
            return None;
        }
        Some(match holder.key("group").find(object) {
            Some(group) if !group.is_null() => Edit::Remove,
            _ => Edit::Rename("group".into()),
        })
    }

    /// The only path below `spec` at which the API has a field of this name.
    fn elsewhere(&self, name: &str) -> Option<String> {
        let mut places = Vec::new();
        collect(self.root, name, &mut Vec::new(), &mut places);
        match places.as_slice() {
            [place] => Some(place.clone()),
            _ => None,
        }
    }
}

/// Reports one unknown field.
pub fn report(
    object: &Json<'_>,
    path: FieldPath,
    name: &str,
    known: Fields,
    spelling: &mut Spelling,
    findings: &mut Findings<'_>,
) {
    let suggestion = spelling.suggest(object, &path, name, known);
    let reason = format!(
        "karpenter.sh/{} has no such field; kubectl rejects it and other clients silently drop it",
        spelling.version.as_str()
    );
    findings
        .report(&FIELD_UNKNOWN, path, ErrorType::Unknown, reason)
        .suggest_if_known(suggestion);
}

/// Collects every path at which there is a field of this name. Lists and maps are left out: the field belongs in
/// one of their elements, but it is not known in which.
fn collect(shape: &'static Shape, name: &str, path: &mut Vec<&'static str>, places: &mut Vec<String>) {
    let fields = match shape {
        Shape::Constrained(_, shape) => return collect(shape, name, path, places),
        Shape::Object(fields) | Shape::Open(fields) => fields,
        _ => return,
    };
    for (field, shape) in *fields {
        path.push(field);
        if *field == name && path.first() == Some(&"spec") {
            let path: FieldPath = path.iter().map(|key| Segment::Key((*key).into())).collect();
            places.push(path.to_string());
        }
        collect(shape, name, path, places);
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::karpenter::{ApiVersion, KarpenterVersion};
    use crate::rules::testing::{errors, errors_for};

    fn suggestion_for(object: &Value) -> String {
        let denied = errors(object);
        assert_eq!(denied.len(), 1, "{denied:?}");
        let (_, suggestion) = denied[0].split_once("; ").unwrap();
        let (_, suggestion) = suggestion.split_once("; ").unwrap_or_default();
        suggestion
            .strip_suffix(" [field-unknown]")
            .unwrap_or_default()
            .to_owned()
    }

    #[test]
    fn an_unknown_field_is_one_error_with_its_likely_spelling() {
        assert_eq!(
            errors(&json!({"spec": {"wieght": 10}})),
            [
                "spec.wieght: Unknown field: karpenter.sh/v1 has no such field; kubectl rejects it and other clients \
                 silently drop it; did you mean weight? [field-unknown]"
            ]
        );
        let typo = json!({"spec": {"template": {"spec": {"terminationGracePeirod": "1h"}}}});
        assert_eq!(suggestion_for(&typo), "did you mean terminationGracePeriod?");
    }

    #[test]
    fn a_field_in_the_wrong_place_gets_the_right_path() {
        let object = json!({"spec": {"expireAfter": "1h"}});
        assert_eq!(
            suggestion_for(&object),
            "did you mean spec.template.spec.expireAfter?"
        );
        let object = json!({"spec": {"budgets": []}});
        assert_eq!(suggestion_for(&object), "did you mean spec.disruption.budgets?");
    }

    #[test]
    fn a_field_of_another_version_or_object_gets_what_became_of_it() {
        let object = json!({"spec": {"disruption": {"expireAfter": "720h"}}});
        assert_eq!(
            suggestion_for(&object),
            "in v1 it is spec.template.spec.expireAfter"
        );
        let object = json!({"spec": {"template": {"spec": {"kubelet": {"maxPods": 20}}}}});
        assert_eq!(suggestion_for(&object), "in v1 it belongs in the node class");
        let object = json!({"spec": {"ttlSecondsAfterEmpty": 30}});
        assert!(suggestion_for(&object).contains("consolidateAfter"));
        let object = json!({"spec": {"template": {"spec": {"taints": [
            {"key": "a", "effect": "NoSchedule", "operator": "Exists"}
        ]}}}});
        assert!(suggestion_for(&object).starts_with("leave it out"));
    }

    #[test]
    fn a_field_that_no_budget_has_is_said_to_be_the_pools_or_replaced_by_utc() {
        for (field, value, suggestion) in [
            (
                "consolidateAfter",
                "5m",
                "remove it: the pool has one in spec.disruption",
            ),
            (
                "consolidationPolicy",
                "WhenEmpty",
                "remove it: the pool has one in spec.disruption",
            ),
            ("timeZone", "Europe/Berlin", "write the schedule in UTC"),
            ("timezone", "Europe/Berlin", "write the schedule in UTC"),
        ] {
            let mut budget = json!({"nodes": "10%"});
            budget[field] = json!(value);
            let object = json!({"spec": {"disruption": {"consolidateAfter": "1m", "budgets": [budget]}}});
            let said = suggestion_for(&object);
            assert!(said.starts_with(suggestion), "{field}: {said}");
        }
    }

    #[test]
    fn each_version_has_its_own_fields() {
        let v1 = json!({"spec": {"template": {"spec": {"expireAfter": "1h"}}}});
        let denied = errors_for(ApiVersion::V1Beta1, KarpenterVersion::new(1, 0, 8), &v1, None);
        assert!(
            denied[0].contains("in v1beta1 it is spec.disruption.expireAfter"),
            "{denied:?}"
        );
    }

    #[test]
    fn metadata_and_status_are_not_checked() {
        let object = json!({"metadata": {"name": "x", "uuid": 5}, "status": {"whatever": true}});
        assert_eq!(errors(&object), [""; 0]);
    }

    #[test]
    fn a_flood_of_unknown_fields_costs_little() {
        let flood: serde_json::Map<String, Value> = (0..100_000)
            .map(|number| (format!("field{number}"), json!(1)))
            .collect();
        assert_eq!(errors(&json!({"spec": flood})).len(), 100);
    }
}
