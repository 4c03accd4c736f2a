//! What the API does not accept of an object: [`violations()`] walks it together with the table of fields. All other code can then
//! silently skip a field of the wrong type, or one that the API does not know.

use super::door::{Beyond, UNKNOWN_FIELDS};
use crate::diagnostic::{FieldPath, Segment};
use crate::facts::KarpenterVersion;
use crate::facts::shape::{Constraint, FieldShapes, Shape};
use crate::json::{Json, Object, whole_number};

/// Something that the API does not accept as it is.
#[derive(Debug)]
pub(crate) enum SchemaViolation<'a> {
    /// A value of the wrong type.
    Mistyped {
        /// The path of the value.
        path: FieldPath,
        /// The value as it is in the object.
        value: &'a Json<'a>,
        /// What is expected there.
        expected: &'static Shape,
    },
    /// A field that the API does not know.
    Unknown {
        /// The path of the field.
        path: FieldPath,
        /// The name of the field as it is written.
        name: &'a str,
        /// The fields that the API knows there.
        known: FieldShapes,
    },
    /// More fields of one object that the API does not know than are named.
    UnknownToo {
        /// The path of the object.
        path: FieldPath,
        /// How many.
        count: usize,
    },
    /// A value, or a missing one, that violates a constraint.
    Unmet {
        /// The path of the field.
        path: FieldPath,
        /// The value of the field; null if it is missing.
        value: &'a Json<'a>,
        /// The constraint that it violates.
        constraint: &'static Constraint,
    },
}

/// Passes everything to `found` that the API of this release does not accept: parents before children, and nothing
/// below a value of the wrong type, nor in a list that is beyond the door.
pub(crate) fn violations<'a>(
    object: &'a Json<'a>,
    shape: &'static Shape,
    by: (KarpenterVersion, &[Beyond<'_>]),
    found: &mut impl FnMut(SchemaViolation<'a>),
) {
    if object.is_null() {
        found(SchemaViolation::Mistyped {
            path: FieldPath::root(),
            value: object,
            expected: shape,
        });
    } else {
        walk(object, shape, by, &mut Vec::new(), found);
    }
}

fn walk<'a>(
    value: &'a Json<'a>,
    shape: &'static Shape,
    by: (KarpenterVersion, &[Beyond<'_>]),
    path: &mut Vec<Step<'a>>,
    found: &mut impl FnMut(SchemaViolation<'a>),
) {
    let mut inside = |step: Step<'a>, value: &'a Json<'a>, shape: &'static Shape| {
        // Most values need no path, because there is nothing to report and nothing inside.
        if !is_plain(value, shape) {
            path.push(step);
            walk(value, shape, by, path, found);
            path.pop();
        }
    };
    let (release, beyond) = by;
    match (shape, value) {
        (Shape::List(_) | Shape::Map(_), _) if beyond.iter().any(|one| one.is(value)) => {}
        (Shape::Constrained(constraints, shape), _) => {
            for constraint in constraints
                .iter()
                .filter(|constraint| !constraint.kind.allows(value) && constraint.is_in(release))
            {
                found(SchemaViolation::Unmet {
                    path: path.iter().map(Step::to_segment).collect(),
                    value,
                    constraint,
                });
            }
            if !value.is_null() {
                walk(value, shape, by, path, found);
            }
        }
        _ if is_plain(value, shape) => {}
        (Shape::List(element), Json::Array(list)) => {
            for (index, value) in list.iter().enumerate() {
                // A null in a list is not a missing value, but one of the wrong type.
                let shape = match (value, *element) {
                    (Json::Null, Shape::Constrained(_, shape)) => *shape,
                    (_, shape) => shape,
                };
                inside(Step::Index(index), value, shape);
            }
        }
        (Shape::Map(entry), Json::Object(map)) => {
            for (key, value) in map.iter().filter(|(_, value)| !value.is_null()) {
                inside(Step::Key(key), value, entry);
            }
        }
        (Shape::Object(fields) | Shape::Open(fields), Json::Object(map)) => {
            let mut seen = 0;
            for (name, shape) in *fields {
                let value = map.get(name);
                seen += usize::from(value.is_some());
                let value = value.unwrap_or(&Json::Null);
                if !value.is_null() || shape.may_be_required() {
                    inside(Step::Field(name), value, shape);
                }
            }
            let more = map.len().saturating_sub(seen);
            if more > 0 && matches!(shape, Shape::Object(_)) {
                unknown((map, more), fields, path, found);
            }
        }
        _ => found(SchemaViolation::Mistyped {
            path: path.iter().map(Step::to_segment).collect(),
            value,
            expected: shape,
        }),
    }
}

/// Whether a value has this shape, and nothing inside that must be checked.
fn is_plain(value: &Json<'_>, shape: &'static Shape) -> bool {
    match (shape, value) {
        (Shape::Any, _)
        | (Shape::Text | Shape::IntegerOrText, Json::String(_))
        | (Shape::Boolean, Json::Bool(_)) => true,
        (Shape::Integer | Shape::IntegerOrText, Json::Number(number)) => whole_number(number).is_some(),
        (Shape::Constrained(..), Json::Null) => !shape.may_be_required(),
        (Shape::Constrained(constraints, shape), _) => {
            is_plain(value, shape) && constraints.iter().all(|constraint| constraint.kind.allows(value))
        }
        _ => false,
    }
}

/// Reports the fields that are not in the table, and how many. Strict decoding rejects an unknown field even if it is null.
fn unknown<'a>(
    (map, count): (&'a Object<'a>, usize),
    known: FieldShapes,
    path: &[Step<'a>],
    found: &mut impl FnMut(SchemaViolation<'a>),
) {
    let unknown = map
        .keys()
        .filter(|name| !known.iter().any(|(known, _)| known == name));
    for name in unknown.take(UNKNOWN_FIELDS) {
        let last = Step::Key(name);
        let steps = path.iter().chain(std::iter::once(&last));
        found(SchemaViolation::Unknown {
            path: steps.map(Step::to_segment).collect(),
            name,
            known,
        });
    }
    if count > UNKNOWN_FIELDS {
        found(SchemaViolation::UnknownToo {
            path: path.iter().map(Step::to_segment).collect(),
            count: count - UNKNOWN_FIELDS,
        });
    }
}

/// One step down while walking; owned only once there is something to report.
enum Step<'a> {
    Field(&'static str),
    Key(&'a str),
    Index(usize),
}

impl Step<'_> {
    fn to_segment(&self) -> Segment {
        match *self {
            Self::Field(name) => Segment::Key(name.into()),
            Self::Key(key) => Segment::Key(key.to_owned().into()),
            Self::Index(index) => Segment::Index(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::facts::ApiVersion;
    use crate::facts::shape::nodepool;

    fn found(object: &Value) -> Vec<String> {
        let mut lines = Vec::new();
        let object = Json::from(object);
        violations(
            &object,
            nodepool(ApiVersion::V1),
            (KarpenterVersion::NEWEST, &[]),
            &mut |violation| {
                lines.push(match violation {
                    SchemaViolation::Mistyped { path, expected, .. } => format!("{path} must be {expected}"),
                    SchemaViolation::Unknown { path, .. } => format!("{path} is unknown"),
                    SchemaViolation::UnknownToo { .. } | SchemaViolation::Unmet { .. } => return,
                });
            },
        );
        lines
    }

    #[test]
    fn one_mismatch_is_reported_once_and_nothing_below_it() {
        let object =
            json!({"spec": {"disruption": {"budgets": {"nodes": 5}}, "limits": [1], "weight": "10"}});
        assert_eq!(
            found(&object),
            [
                "spec.disruption.budgets must be a list",
                "spec.limits must be an object",
                "spec.weight must be a whole number"
            ]
        );
    }

    #[test]
    fn anything_but_an_object_is_one_mismatch_at_the_root() {
        for object in [json!(null), json!("text"), json!([{}])] {
            assert_eq!(found(&object), ["<object> must be an object"]);
        }
    }

    #[test]
    fn null_counts_as_absent_in_objects_but_not_in_lists() {
        assert_eq!(
            found(&json!({"spec": {"limits": {"cpu": null}, "disruption": null}})),
            [""; 0]
        );
        assert_eq!(
            found(&json!({"spec": {"disruption": {"budgets": [null]}}})),
            ["spec.disruption.budgets[0] must be an object"]
        );
    }

    #[test]
    fn whole_floats_pass_for_whole_numbers() {
        assert_eq!(
            found(&json!({"spec": {"weight": 10.0, "limits": {"cpu": 1.5, "nodes": 3.0}}})),
            ["spec.limits.cpu must be a whole number or a string"]
        );
    }

    #[test]
    fn a_number_beyond_64_bits_is_not_a_whole_number() {
        assert_eq!(
            found(&json!({"spec": {"replicas": 1e300, "weight": i64::MAX, "limits": {"cpu": u64::MAX}}})),
            [
                "spec.limits.cpu must be a whole number or a string",
                "spec.replicas must be a whole number"
            ]
        );
    }

    #[test]
    fn unknown_fields_are_found_everywhere_but_in_metadata_and_status() {
        let object = json!({
            "metadata": {"name": "x", "ownerReferences": []},
            "status": {"anything": 1},
            "spec": {"wieght": 1, "limits": {"any/key": "1"}, "template": {"spec": {"taints": [{"oprator": 1}], "kubelet": null}}},
            "extra": {},
        });
        assert_eq!(
            found(&object),
            [
                "spec.template.spec.taints[0].oprator is unknown",
                "spec.template.spec.kubelet is unknown",
                "spec.wieght is unknown",
                "extra is unknown"
            ]
        );
    }
}
