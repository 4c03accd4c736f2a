//! The JSON types that the API demands, as far as poolgate reads the object.
//!
//! One table per version says what stands where; [`mismatches`] walks object and table together. Everyone
//! else can then pass over a field of the wrong type without a word.

use std::fmt;

use serde_json::Value;

use super::ApiVersion;
use crate::diagnostic::{FieldPath, Segment};

/// What may stand at a place.
#[derive(Debug)]
pub enum Shape {
    /// A string.
    Text,
    /// A whole number.
    Integer,
    /// A whole number or a string.
    IntegerOrText,
    /// A list of one shape.
    List(&'static Self),
    /// An object with keys of the user's choice.
    Map(&'static Self),
    /// An object with these fields. Others are passed over.
    Object(&'static [(&'static str, Self)]),
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "a string",
            Self::Integer => "a whole number",
            Self::IntegerOrText => "a whole number or a string",
            Self::List(_) => "a list",
            Self::Map(_) | Self::Object(_) => "an object",
        })
    }
}

/// A value of the wrong type.
#[derive(Debug)]
pub struct Mismatch<'a> {
    /// Where it stands.
    pub path: FieldPath,
    /// What stands there.
    pub value: &'a Value,
    /// What should stand there.
    pub expected: &'static Shape,
}

/// The shape of a NodePool of this version.
pub const fn nodepool(version: ApiVersion) -> &'static Shape {
    match version {
        ApiVersion::V1 => &NODEPOOL_V1,
        ApiVersion::V1Beta1 => &NODEPOOL_V1BETA1,
    }
}

/// Hands every value of the wrong type to `found`, parents before children and nothing below a mismatch.
pub fn mismatches<'a>(object: &'a Value, shape: &'static Shape, found: &mut impl FnMut(Mismatch<'a>)) {
    if object.is_null() {
        found(Mismatch {
            path: FieldPath::root(),
            value: object,
            expected: shape,
        });
    } else {
        walk(object, shape, &mut Vec::new(), found);
    }
}

fn walk<'a>(
    value: &'a Value,
    shape: &'static Shape,
    path: &mut Vec<Step<'a>>,
    found: &mut impl FnMut(Mismatch<'a>),
) {
    let mut inside = |step: Step<'a>, value: &'a Value, shape: &'static Shape| {
        path.push(step);
        walk(value, shape, path, found);
        path.pop();
    };
    match (shape, value) {
        (Shape::Text | Shape::IntegerOrText, Value::String(_)) => {}
        (Shape::Integer | Shape::IntegerOrText, Value::Number(number)) if is_whole(number) => {}
        (Shape::List(element), Value::Array(list)) => {
            for (index, value) in list.iter().enumerate() {
                inside(Step::Index(index), value, element);
            }
        }
        (Shape::Map(entry), Value::Object(map)) => {
            for (key, value) in map.iter().filter(|(_, value)| !value.is_null()) {
                inside(Step::Key(key), value, entry);
            }
        }
        (Shape::Object(fields), Value::Object(map)) => {
            for (name, shape) in *fields {
                if let Some(value) = map.get(*name).filter(|value| !value.is_null()) {
                    inside(Step::Field(name), value, shape);
                }
            }
        }
        _ => found(Mismatch {
            path: path.iter().map(Step::to_segment).collect(),
            value,
            expected: shape,
        }),
    }
}

/// One step down while walking; owned only once there is something to say.
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

/// JSON does not tell `3` from `3.0`; the API server takes both for whole, as long as nothing follows the point.
fn is_whole(number: &serde_json::Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|value| value.fract() == 0.0)
}

const METADATA: Shape = Shape::Object(&[
    ("name", Shape::Text),
    ("labels", Shape::Map(&Shape::Text)),
    ("annotations", Shape::Map(&Shape::Text)),
]);

const TEMPLATE_METADATA: Shape = Shape::Object(&[
    ("labels", Shape::Map(&Shape::Text)),
    ("annotations", Shape::Map(&Shape::Text)),
]);

const REQUIREMENTS: Shape = Shape::List(&Shape::Object(&[
    ("key", Shape::Text),
    ("operator", Shape::Text),
    ("values", Shape::List(&Shape::Text)),
    ("minValues", Shape::Integer),
]));

const TAINTS: Shape = Shape::List(&Shape::Object(&[
    ("key", Shape::Text),
    ("value", Shape::Text),
    ("effect", Shape::Text),
    ("timeAdded", Shape::Text),
]));

const LIMITS: Shape = Shape::Map(&Shape::IntegerOrText);

static NODEPOOL_V1: Shape = Shape::Object(&[
    ("metadata", METADATA),
    (
        "spec",
        Shape::Object(&[
            (
                "disruption",
                Shape::Object(&[
                    (
                        "budgets",
                        Shape::List(&Shape::Object(&[
                            ("nodes", Shape::Text),
                            ("reasons", Shape::List(&Shape::Text)),
                            ("schedule", Shape::Text),
                            ("duration", Shape::Text),
                        ])),
                    ),
                    ("consolidationPolicy", Shape::Text),
                    ("consolidateAfter", Shape::Text),
                    ("nodeLimitMode", Shape::Text),
                ]),
            ),
            ("limits", LIMITS),
            ("weight", Shape::Integer),
            ("replicas", Shape::Integer),
            (
                "template",
                Shape::Object(&[
                    ("metadata", TEMPLATE_METADATA),
                    (
                        "spec",
                        Shape::Object(&[
                            ("requirements", REQUIREMENTS),
                            ("taints", TAINTS),
                            ("startupTaints", TAINTS),
                            (
                                "nodeClassRef",
                                Shape::Object(&[
                                    ("group", Shape::Text),
                                    ("kind", Shape::Text),
                                    ("name", Shape::Text),
                                ]),
                            ),
                            ("expireAfter", Shape::Text),
                            ("terminationGracePeriod", Shape::Text),
                        ]),
                    ),
                ]),
            ),
        ]),
    ),
]);

static NODEPOOL_V1BETA1: Shape = Shape::Object(&[
    ("metadata", METADATA),
    (
        "spec",
        Shape::Object(&[
            (
                "disruption",
                Shape::Object(&[
                    (
                        "budgets",
                        Shape::List(&Shape::Object(&[
                            ("nodes", Shape::Text),
                            ("schedule", Shape::Text),
                            ("duration", Shape::Text),
                        ])),
                    ),
                    ("consolidationPolicy", Shape::Text),
                    ("consolidateAfter", Shape::Text),
                    ("expireAfter", Shape::Text),
                    ("nodeLimitMode", Shape::Text),
                ]),
            ),
            ("limits", LIMITS),
            ("weight", Shape::Integer),
            (
                "template",
                Shape::Object(&[
                    ("metadata", TEMPLATE_METADATA),
                    (
                        "spec",
                        Shape::Object(&[
                            ("requirements", REQUIREMENTS),
                            ("taints", TAINTS),
                            ("startupTaints", TAINTS),
                            (
                                "nodeClassRef",
                                Shape::Object(&[
                                    ("apiVersion", Shape::Text),
                                    ("kind", Shape::Text),
                                    ("name", Shape::Text),
                                ]),
                            ),
                        ]),
                    ),
                ]),
            ),
        ]),
    ),
]);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(object: &Value) -> Vec<String> {
        let mut lines = Vec::new();
        mismatches(object, nodepool(ApiVersion::V1), &mut |mismatch| {
            lines.push(format!("{} must be {}", mismatch.path, mismatch.expected));
        });
        lines
    }

    #[test]
    fn one_mismatch_is_told_once_and_nothing_below_it() {
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
    fn an_object_that_is_none_is_one_mismatch_at_the_root() {
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
}
