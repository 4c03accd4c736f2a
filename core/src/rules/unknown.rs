//! Reports fields that the API does not know, and suggests what was probably meant.

use super::findings::Findings;
use super::moved;
use crate::diagnostic::{Edit, ErrorType, FieldPath, MAX_KEPT, Segment, Suggestion, nearest};
use crate::json::Json;
use crate::karpenter::ApiVersion;
use crate::karpenter::shape::{Fields, Shape, nodepool};
use crate::rules::rule::Rule;

pub static FIELD_UNKNOWN: Rule = rule!("field-unknown", Error, Schema);

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

    use crate::rules::testing::errors;

    #[test]
    fn a_flood_of_unknown_fields_costs_little() {
        let flood: serde_json::Map<String, Value> = (0..100_000)
            .map(|number| (format!("field{number}"), json!(1)))
            .collect();
        assert_eq!(errors(&json!({"spec": flood})).len(), 100);
    }
}
