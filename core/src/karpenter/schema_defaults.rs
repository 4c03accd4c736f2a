//! What the API server itself writes into a NodePool, by the definition of each release, before it calls any
//! webhook.

use serde_json::Value;

use super::shape::{Constraint, ConstraintKind, Shape, nodepool};
use super::{ApiVersion, KarpenterVersion};

/// The NodePool as the API server would complete it by the definition of this release. A field is written if it is
/// absent or null and its parent is an object; existing values are never changed.
pub fn schema_defaults(object: &Value, version: ApiVersion, release: KarpenterVersion) -> Value {
    let mut object = object.clone();
    complete(&mut object, nodepool(version), release);
    object
}

fn complete(value: &mut Value, shape: &Shape, release: KarpenterVersion) {
    match (shape, value) {
        (Shape::Constrained(_, shape), value) => complete(value, shape, release),
        (Shape::List(element), Value::Array(list)) => {
            for value in list {
                complete(value, element, release);
            }
        }
        (Shape::Object(fields), Value::Object(map)) => {
            for (name, shape) in *fields {
                if map.get(*name).is_none_or(Value::is_null)
                    && let Shape::Constrained(constraints, _) = shape
                    && let Some(default) = default(constraints, release)
                {
                    map.insert((*name).to_owned(), default);
                }
                if let Some(value) = map.get_mut(*name) {
                    complete(value, shape, release);
                }
            }
        }
        _ => {}
    }
}

/// The default of a field in this release.
fn default(constraints: &[Constraint], release: KarpenterVersion) -> Option<Value> {
    constraints.iter().find_map(|constraint| match constraint.kind {
        ConstraintKind::Default(json) if constraint.is_in(release) => serde_json::from_str(json).ok(),
        _ => None,
    })
}
