//! The node limit that a user leaves to poolgate: the value of `spec.limits.nodes` until the reconciler has seen
//! the pool.

use serde_json::{Value, json};

use super::DefaultValue;
use crate::diagnostic::FieldPath;
use crate::json::Json;
use crate::karpenter::{Field, NodePool};
use crate::value::quantity::Quantity;

/// The first `spec.limits.nodes` of a pool that leaves it to poolgate. If a stored pool has a lower one, a manifest
/// without it does not raise it: the reconciler knows why it is lower.
pub fn first(pool: &NodePool<'_>, old: Option<&NodePool<'_>>) -> Option<DefaultValue> {
    let limit = pool.annotated_node_limit()?;
    let stored = old.and_then(|old| old.limits.present()?.get("nodes"));
    let is_lower = |nodes: &&Json<'_>| {
        NodePool::limit_value(nodes).is_some_and(|nodes| nodes <= Quantity::from(i64::from(limit)))
    };
    let nodes = stored
        .filter(is_lower)
        .map_or_else(|| Value::from(limit.to_string()), Value::from);
    let limits = FieldPath::of(&["spec", "limits"]);
    match &pool.limits {
        Field::Mistyped => None,
        Field::Absent => Some(DefaultValue {
            path: limits,
            value: json!({"nodes": nodes}),
        }),
        Field::Present(given) => given
            .get("nodes")
            .is_none_or(Json::is_null)
            .then(|| DefaultValue {
                path: limits.key("nodes"),
                value: nodes,
            }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::karpenter::ApiVersion::V1;

    fn written(limit: &str, limits: &Value, stored: Option<&str>) -> Option<(String, Value)> {
        let annotations = json!({"poolgate.dev/node-limit": limit});
        let pool = json!({"metadata": {"annotations": annotations}, "spec": {"limits": limits}});
        let old = stored.map(|nodes| json!({"spec": {"limits": {"nodes": nodes}}}));
        let old = old.as_ref().map(Json::from);
        let old = old.as_ref().map(|old| NodePool::view(V1, old));
        let first = first(&NodePool::view(V1, &Json::from(&pool)), old.as_ref())?;
        Some((first.path.to_string(), first.value))
    }

    #[test]
    fn a_limit_that_is_left_to_poolgate_is_written_once() {
        let whole = |nodes: &str| Some(("spec.limits".to_owned(), json!({"nodes": nodes})));
        let field = |nodes: &str| Some(("spec.limits.nodes".to_owned(), json!(nodes)));
        assert_eq!(written("10", &json!(null), None), whole("10"));
        assert_eq!(written("10", &json!({"cpu": 5}), None), field("10"));
        assert_eq!(written("10", &json!({"nodes": null}), None), field("10"));
        assert_eq!(written("10", &json!({"nodes": "7"}), None), None);
        assert_eq!(written("10", &json!([]), None), None);
        assert_eq!(written("ten", &json!(null), None), None);
    }

    #[test]
    fn a_manifest_without_it_does_not_raise_what_is_stored() {
        let field = |nodes: &str| Some(("spec.limits.nodes".to_owned(), json!(nodes)));
        assert_eq!(written("10", &json!({"cpu": 5}), Some("8")), field("8"));
        assert_eq!(written("10", &json!({"cpu": 5}), Some("12")), field("10"));
    }
}
