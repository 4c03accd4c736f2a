//! Which fields the API has, their JSON types, and what it requires of them beyond that.
//!
//! One table per version describes all fields; [`violations`] walks object and table together. All other
//! code can then silently skip a field of the wrong type, or one that the API does not know. The tables are generated
//! from the definitions of all releases: a field has the type of the newest one, and its constraints say in which
//! releases they hold.

mod constraint;
// Laid out by its generator: one field is one line.
// karpenter: pkg/apis/v1/nodepool.go NodePoolSpec
// karpenter: pkg/apis/v1/nodepool.go Disruption
// karpenter: pkg/apis/v1/nodepool.go Budget
// karpenter: pkg/apis/v1/nodepool.go NodeClaimTemplateSpec
// karpenter 1.0.8: pkg/apis/v1beta1/nodepool.go NodePoolSpec
// karpenter 1.0.8: pkg/apis/v1beta1/nodeclaim.go NodeClaimSpec
#[rustfmt::skip]
#[expect(clippy::unreadable_literal, reason = "generated")]
mod tables;

use std::fmt;

use super::door::{Beyond, UNKNOWN_FIELDS};
use super::{ApiVersion, KarpenterVersion, whole_number};
use crate::diagnostic::{FieldPath, Segment};
use crate::json::{Json, Object};

pub use constraint::Availability;
pub(crate) use constraint::{
    CAPACITY_TYPES, Constraint, ConstraintKind, Constraints, Pattern, constraint, entries,
};

/// The path of the list of budgets.
pub(crate) const BUDGETS: &str = "spec.disruption.budgets";

/// The path of the list of requirements.
pub(crate) const REQUIREMENTS: &str = "spec.template.spec.requirements";

/// The path of a requirement's key.
pub(crate) const REQUIREMENT_KEY: &str = "spec.template.spec.requirements[].key";

/// The step of a path from a list to its elements.
const ELEMENTS: &[u8] = b"[]";

/// The shape of a NodePool of this version.
pub const fn nodepool(version: ApiVersion) -> &'static Shape {
    match version {
        ApiVersion::V1 => &tables::NODEPOOL_V1,
        ApiVersion::V1Beta1 => &tables::NODEPOOL_V1BETA1,
    }
}

/// The fields of an object, each with its shape.
pub type Fields = &'static [(&'static str, Shape)];

/// The shape of a value.
#[derive(Debug)]
pub enum Shape {
    /// A string.
    Text,
    /// A whole number of up to 64 bits.
    Integer,
    /// A whole number or a string.
    IntegerOrText,
    /// `true` or `false`.
    Boolean,
    /// A list whose elements have this shape.
    List(&'static Self),
    /// An object with keys of the user's choice.
    Map(&'static Self),
    /// An object with these fields and no others.
    Object(Fields),
    /// An object of which poolgate knows these fields; others are not checked.
    Open(Fields),
    /// A value that poolgate does not check.
    Any,
    /// A value with constraints beyond its type.
    Constrained(&'static [Constraint], &'static Self),
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "a string",
            Self::Integer => "a whole number",
            Self::IntegerOrText => "a whole number or a string",
            Self::Boolean => "true or false",
            Self::List(_) => "a list",
            Self::Map(_) | Self::Object(_) | Self::Open(_) => "an object",
            Self::Any => "anything",
            Self::Constrained(_, shape) => return shape.fmt(f),
        })
    }
}

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
        known: Fields,
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

impl Shape {
    /// Whether some release requires the value. The table has that constraint first, and a missing value violates no other.
    fn may_be_required(&self) -> bool {
        matches!(self, Self::Constrained([first, ..], _) if matches!(first.kind, ConstraintKind::Present))
    }

    /// What the definitions say of the value at a path such as `spec.disruption.budgets[].nodes`; nothing if they have no
    /// such field.
    pub(crate) fn at(&'static self, path: &str) -> Constraints {
        // By bytes: splitting a string costs several times as much, and each review looks up several paths.
        let steps = path.as_bytes().split(|byte| *byte == b'.').flat_map(|step| {
            let list = step.strip_suffix(b"[]");
            let elements = list.map(|_| ELEMENTS);
            std::iter::once(list.unwrap_or(step)).chain(elements)
        });
        self.at_steps(steps)
    }

    /// What the definitions say of the value at a path in an object.
    pub(crate) fn at_path(&'static self, path: &FieldPath) -> Constraints {
        let steps = path.segments().iter();
        self.at_steps(steps.map(|step| match step {
            Segment::Key(key) => key.as_bytes(),
            Segment::Index(_) => ELEMENTS,
        }))
    }

    /// Of a list, any step leads to its elements.
    fn at_steps<'p>(&'static self, steps: impl Iterator<Item = &'p [u8]>) -> Constraints {
        let mut shape = self;
        for step in steps {
            if let Self::Constrained(_, inner) = shape {
                shape = inner;
            }
            let inside = match shape {
                Self::List(inner) | Self::Map(inner) => Some(*inner),
                Self::Object(fields) | Self::Open(fields) => fields
                    .iter()
                    .find_map(|(name, shape)| (name.as_bytes() == step).then_some(shape)),
                _ => None,
            };
            let Some(inside) = inside else {
                return Constraints::new(&[]);
            };
            shape = inside;
        }
        Constraints::new(match shape {
            Self::Constrained(constraints, _) => constraints,
            _ => &[],
        })
    }
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
    known: Fields,
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
    fn a_constraint_that_requires_the_value_is_the_first_of_its_field() {
        fn fields(shape: &'static Shape) -> usize {
            match shape {
                Shape::Constrained(constraints, inner) => {
                    let later = constraints.iter().skip(1);
                    assert!(
                        !later
                            .into_iter()
                            .any(|constraint| matches!(constraint.kind, ConstraintKind::Present)),
                        "{constraints:?}"
                    );
                    usize::from(shape.may_be_required()) + fields(inner)
                }
                Shape::List(inner) | Shape::Map(inner) => fields(inner),
                Shape::Object(known) | Shape::Open(known) => {
                    known.iter().map(|(_, shape)| fields(shape)).sum()
                }
                _ => 0,
            }
        }
        for version in [ApiVersion::V1, ApiVersion::V1Beta1] {
            assert!(fields(nodepool(version)) > 0);
        }
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
