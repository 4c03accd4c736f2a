//! The node limit that a user leaves to poolgate, or takes back from it: the value of `spec.limits.nodes` until the
//! reconciler has seen the pool, and when the annotation is removed.

use serde_json::{Value, json};

use super::DefaultValue;
use crate::api::{NODE_LIMIT_ANNOTATION, annotation_path};
use crate::diagnostic::FieldPath;
use crate::json::Json;
use crate::pool::{Field, NodePool};
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
        Field::Mistyped | Field::Beyond => None,
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

/// The first number of a new pool with a schedule. The leader writes the one in force a moment later.
pub fn first_of_schedule(pool: &NodePool<'_>, old: Option<&NodePool<'_>>) -> Option<DefaultValue> {
    let is_missing = old.is_none() && pool.stored_node_limit().is_none();
    let lowest = pool.annotated_node_limit().filter(|_| is_missing)?;
    Some(DefaultValue {
        path: annotation_path(NODE_LIMIT_ANNOTATION),
        value: lowest.to_string().into(),
    })
}

/// Whether an update sets or changes the limit.
pub fn is_changed(pool: &NodePool<'_>, old: Option<&NodePool<'_>>) -> bool {
    let value = |pool: &NodePool<'_>| pool.annotated_node_limit();
    old.is_some_and(|old| value(old) != value(pool))
}

/// The `spec.limits.nodes` of a pool whose annotation an update removes. The stored number may be lower than the limit,
/// because the reconciler lowered it while nodes were terminating, and nothing would raise it again. An update that
/// writes the field itself is left alone.
pub fn taken_back(pool: &NodePool<'_>, old: Option<&NodePool<'_>>) -> Option<DefaultValue> {
    let old = old?;
    let limit = old.annotated_node_limit()?;
    if pool.node_limit_key().is_some() {
        return None;
    }
    let nodes = pool.limits.as_ref().present()?.get("nodes")?;
    let is_unchanged = old.limits.as_ref().present()?.get("nodes") == Some(nodes);
    let is_lower = NodePool::limit_value(nodes)? < Quantity::from(i64::from(limit));
    (is_unchanged && is_lower).then(|| DefaultValue {
        path: FieldPath::of(&["spec", "limits", "nodes"]),
        value: limit.to_string().into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::ApiVersion::V1;

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

    #[test]
    fn a_limit_that_is_taken_back_is_the_one_of_the_annotation_unless_the_update_writes_another() {
        let pool = |annotation: Option<&str>, nodes: &str| {
            json!({
                "metadata": {"annotations": {"poolgate.dev/node-limit": annotation}},
                "spec": {"limits": {"nodes": nodes}},
            })
        };
        let written = |new: (Option<&str>, &str), old: (Option<&str>, &str)| {
            let (new, old) = (pool(new.0, new.1), pool(old.0, old.1));
            let (new, old) = (Json::from(&new), Json::from(&old));
            let written = taken_back(&NodePool::view(V1, &new), Some(&NodePool::view(V1, &old)))?;
            Some((written.path.to_string(), written.value))
        };
        let restored = Some(("spec.limits.nodes".to_owned(), json!("10")));
        assert_eq!(written((None, "8"), (Some("10"), "8")), restored);
        assert_eq!(
            written((None, "10"), (Some("10"), "10")),
            None,
            "nothing to restore"
        );
        assert_eq!(
            written((None, "5"), (Some("10"), "8")),
            None,
            "the user's own number"
        );
        assert_eq!(
            written((None, "12"), (Some("10"), "12")),
            None,
            "nobody lowered it"
        );
        assert_eq!(
            written((Some("10"), "8"), (Some("10"), "8")),
            None,
            "still left to poolgate"
        );
        assert_eq!(written((None, "8"), (None, "8")), None);
    }
}
