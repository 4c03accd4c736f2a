//! Checks each field against the schema: known to the API, of the right type, present if required, valid.

use serde_json::Value;

use super::findings::{Findings, UNREADABLE};
use super::{constraints, moved};
use crate::diagnostic::{
    Edit, ErrorType, FieldPath, MAX_KEPT, Origin, Segment, Suggestion, counted, nearest,
};
use crate::facts::shape::{FieldShapes, Shape, nodepool};
use crate::facts::{ApiVersion, LabelValues, Operator, Provider};
use crate::json::Json;
use crate::pool::{NodePool, SchemaViolation, violations};
use crate::rules::rule::Rule;

/// What follows from a field that the API does not know.
const DROPPED: &str = "kubectl rejects the field, and other clients silently drop it";

pub static FIELD_TYPE: Rule = rule!("field-type", Error, Schema);
pub static FIELD_UNKNOWN: Rule = rule!("field-unknown", Error, Schema);

/// Checks the fields of a NodePool.
pub fn check(pool: &NodePool<'_>, findings: &mut Findings<'_>) {
    let object = pool.object;
    let mut spelling = Spelling::of(pool.version);
    let release = findings.context.release;
    violations(
        object,
        spelling.root,
        (release, &pool.beyond),
        &mut |violation| match violation {
            SchemaViolation::Mistyped {
                path,
                value,
                expected,
            } => report_type(object, path, value, expected, findings),
            SchemaViolation::Unknown { path, name, known } => {
                report_unknown(object, path, name, known, &mut spelling, findings);
            }
            SchemaViolation::UnknownToo { path, count } => {
                let version = spelling.version.as_str();
                let more = counted(count, "more field");
                let title = format!("karpenter.sh/{version} does not have {more} here");
                findings
                    .report(&FIELD_UNKNOWN, path, ErrorType::Unknown, title)
                    .consequence(DROPPED);
            }
            SchemaViolation::Unmet {
                path,
                value,
                constraint,
            } => {
                constraints::report(object, path, value, &constraint.kind, findings);
            }
        },
    );
}

/// Reports one value of the wrong type.
fn report_type(
    object: &Json<'_>,
    path: FieldPath,
    value: &Json<'_>,
    expected: &Shape,
    findings: &mut Findings<'_>,
) {
    if is_wrapper(&path) && value.is_object() {
        let title = "limits has no field resources since v1beta1";
        let unwrap = Suggestion::from("write its entries directly under limits").with(Edit::Unwrap);
        findings
            .report(&FIELD_TYPE, path, ErrorType::mistyped(value), title)
            .suggest(unwrap);
        return;
    }
    let title = format!("the value must be {expected}");
    // The API server takes a list for a string that has a format.
    let is_accepted =
        value.as_array().is_some() && path.segments().last() == Some(&Segment::Key("timeAdded".into()));
    let is_number = value.as_number().is_some() && means_number(object, &path);
    let finding = findings.report(&FIELD_TYPE, path, ErrorType::mistyped(value), title);
    if is_accepted {
        finding.origin(Origin::Silent).consequence(UNREADABLE);
    }
    match (value, expected) {
        (Json::Number(_) | Json::Bool(_), Shape::Text | Shape::IntegerOrText) => {
            finding.suggest(Suggestion::quote(&value.to_string(), is_number))
        }
        (Json::String(text), Shape::Integer | Shape::Boolean) => {
            finding.suggest_if_known(unquoted(text.trim(), expected).map(|bare| {
                Suggestion::from(format!("write it without quotes: {bare}")).with(Edit::Set(bare))
            }))
        }
        (
            Json::Object(_) | Json::Array(_),
            Shape::Text | Shape::Integer | Shape::IntegerOrText | Shape::Boolean,
        ) => finding.suggest(instead_of_several(value, expected)),
        (Json::Object(_), Shape::List(_)) => finding.suggest("begin each element with a dash"),
        (Json::String(text), Shape::List(_)) if is_word(text) => {
            finding.suggest(format!("write [{}]", text.trim()))
        }
        _ => finding,
    };
}

/// True if the text at a path means a number: of nodes, or of a label that has numbers.
fn means_number(object: &Json<'_>, path: &FieldPath) -> bool {
    match &*path.without_positions() {
        "spec.disruption.budgets[].nodes" => true,
        "spec.template.spec.requirements[].values[]" => {
            let requirement = path.parent().and_then(|values| values.parent());
            let text = |field| requirement.clone()?.key(field).find(object)?.as_str();
            let operator = text("operator").and_then(Operator::parse);
            let group = FieldPath::of(&["spec", "template", "spec", "nodeClassRef", "group"]);
            let provider = group
                .find(object)
                .and_then(|group| Provider::of_group(group.as_str()?));
            let label = provider
                .zip(text("key"))
                .and_then(|(provider, key)| provider.label(key));
            operator.is_some_and(Operator::is_numeric)
                || label.is_some_and(|label| label.values == LabelValues::Number)
        }
        _ => false,
    }
}

/// The help for a mapping or a list where the API takes a single value: write the only value in it.
fn instead_of_several(value: &Json<'_>, expected: &Shape) -> String {
    let only = match value {
        Json::Object(fields) => fields.values().next().filter(|_| fields.len() == 1),
        Json::Array(items) => items.first().filter(|_| items.len() == 1),
        _ => None,
    };
    let what = if value.is_object() { "mapping" } else { "list" };
    let written = match (only, expected) {
        (Some(Json::String(text)), Shape::Text | Shape::IntegerOrText) if is_word(text) => {
            Some(text.trim().to_owned())
        }
        (Some(number @ Json::Number(_)), Shape::Integer | Shape::IntegerOrText) => Some(number.to_string()),
        (Some(number @ Json::Number(_)), Shape::Text) => Some(format!("\"{number}\"")),
        (Some(boolean @ Json::Bool(_)), Shape::Boolean) => Some(boolean.to_string()),
        _ => None,
    };
    match written {
        Some(written) => format!("write {written} instead of the {what}"),
        None => format!("write {expected} instead of the {what}"),
    }
}

/// True if a field holds the limits of a Provisioner, the predecessor of the NodePool.
fn is_wrapper(path: &FieldPath) -> bool {
    *path == FieldPath::of(&["spec", "limits", "resources"])
}

/// True if a string can be in a YAML list without quotes.
fn is_word(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    !text.trim().is_empty() && text.trim().bytes().all(is_plain)
}

/// The number or boolean that a string spells; `None` if it is ambiguous, such as `010`.
fn unquoted(text: &str, expected: &Shape) -> Option<Value> {
    let value: Value = match expected {
        Shape::Integer => text.parse::<i64>().ok()?.into(),
        _ => text.parse::<bool>().ok()?.into(),
    };
    let spelled = value.to_string();
    (spelled == text).then_some(value)
}

/// Reports one unknown field.
fn report_unknown(
    object: &Json<'_>,
    path: FieldPath,
    name: &str,
    known: FieldShapes,
    spelling: &mut Spelling,
    findings: &mut Findings<'_>,
) {
    let suggestion = spelling.suggest(object, &path, name, known).or_else(|| {
        // A field that is there and has no value is null.
        let is_null = path.find(object).is_none();
        is_null.then(|| Suggestion::from("remove it").with(Edit::Remove))
    });
    let title = format!("karpenter.sh/{} has no such field", spelling.version.as_str());
    findings
        .report(&FIELD_UNKNOWN, path, ErrorType::Unknown, title)
        .consequence(DROPPED)
        .suggest_if_known(suggestion);
}

/// The state for suggesting the right spelling of an unknown field.
#[derive(Debug)]
struct Spelling {
    version: ApiVersion,
    root: &'static Shape,
    guesses: usize,
}

impl Spelling {
    /// For a NodePool of this version.
    fn of(version: ApiVersion) -> Self {
        Self {
            version,
            root: nodepool(version),
            guesses: 0,
        }
    }

    /// The help. A guess is the slowest part of a check, so only as many are made as are reported.
    fn suggest(
        &mut self,
        object: &Json<'_>,
        path: &FieldPath,
        name: &str,
        known: FieldShapes,
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
    /// Kubernetes. Next to a `group` it is redundant.
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

    /// The only path below `spec` at which the API has a field of this name, if the name does not fit every object.
    fn elsewhere(&self, name: &str) -> Option<String> {
        const OF_ANYTHING: [&str; 4] = ["apiVersion", "group", "kind", "name"];
        if OF_ANYTHING.contains(&name) {
            return None;
        }
        let mut places = Vec::new();
        collect(self.root, name, &mut Vec::new(), &mut places);
        match places.as_slice() {
            [place] => Some(place.clone()),
            _ => None,
        }
    }
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
    fn of_a_flood_of_unknown_fields_the_first_are_named_and_the_rest_counted() {
        let flood: serde_json::Map<String, Value> = (0..100_000)
            .map(|number| (format!("field{number}"), json!(1)))
            .collect();
        let errors = errors(&json!({"spec": flood}));
        assert_eq!(errors.len(), 51);
        let last = errors.last().expect("an error");
        assert!(last.contains("does not have 99950 more fields here"), "{last}");
    }
}
