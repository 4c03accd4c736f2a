//! Which fields the API has, their JSON types, and what it requires of them beyond that.
//!
//! One table per version describes all fields. The tables are generated from the definitions of all releases: a field has the
//! type of the newest one, and its constraints say in which releases they hold.

mod constraint;
mod kinds;
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

use super::ApiVersion;
use crate::diagnostic::{FieldPath, Segment};

pub use constraint::Availability;
pub(crate) use constraint::{
    CAPACITY_TYPES, Constraint, ConstraintKind, Constraints, Pattern, constraint, entries,
};
pub use kinds::OtherKind;

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
pub type FieldShapes = &'static [(&'static str, Shape)];

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
    Object(FieldShapes),
    /// An object with these fields, and others that are not checked.
    Open(FieldShapes),
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

impl Shape {
    /// Whether some release requires the value. The table has that constraint first, and a missing value violates no other.
    pub(crate) fn may_be_required(&self) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
