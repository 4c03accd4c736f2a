//! The node limit mode in its two places. The field is the user's; the annotation keeps every mode but Hard when the
//! definition lacks the field, as after every upgrade of Karpenter's definitions. A pool with neither is Hard.

use serde_json::{Map, Value};

use super::DefaultValue;
use crate::api::{NODE_LIMIT_MODE_ANNOTATION, NodeLimitMode};
use crate::diagnostic::FieldPath;
use crate::facts::TargetKarpenter;
use crate::pool::{Disruption, Field, NodePool};

/// The mode in both places, as text.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Texts<'a> {
    field: Option<&'a str>,
    annotation: Option<&'a str>,
}

impl<'a> Texts<'a> {
    fn of(pool: &NodePool<'a>) -> Self {
        Self {
            field: pool.node_limit_mode_field(),
            annotation: pool.node_limit_mode_annotation(),
        }
    }
}

/// The mode of the completed pool; `None` if it still has no valid one.
pub fn completed(
    pool: &NodePool<'_>,
    old: Option<&NodePool<'_>>,
    default: NodeLimitMode,
) -> Option<NodeLimitMode> {
    if is_missing(pool, old) {
        return Some(default);
    }
    let newer = old.and_then(|old| newer_annotation(pool, old));
    newer.or_else(|| pool.node_limit_mode())
}

/// Whether the pool gets the default mode: a new pool without a mode, and a pool whose mode an update removes. A stored
/// pool without a mode stays as it is.
fn is_missing(pool: &NodePool<'_>, old: Option<&NodePool<'_>>) -> bool {
    if has_field(pool) {
        false
    } else if has_annotation(pool) {
        old.is_some_and(|old| is_taken_back(pool, old))
    } else {
        old.is_none_or(|old| has_field(old) || has_annotation(old))
    }
}

/// The value to write into the absent field; `None` if it stays absent. Not if the CRD is known to lack the field: the API
/// server stores what a webhook adds to a new object without pruning it, and the next write of the same manifest would
/// remove it. And not into a stored pool without it: on an update the API server does prune, but only after it has
/// incremented the generation, so every write would look like a change.
pub fn field(
    pool: &NodePool<'_>,
    old: Option<&NodePool<'_>>,
    default: NodeLimitMode,
    karpenter: &TargetKarpenter,
) -> Option<Value> {
    let has_place = karpenter.keeps_node_limit_mode(pool.version) != Some(false);
    let is_wanted = has_place && old.is_none_or(has_field) && is_missing(pool, old);
    is_wanted.then(|| default.as_str().into())
}

/// The value to write so that both places agree. If they differ after an update, the one that the update changed wins.
pub fn agreement(
    pool: &NodePool<'_>,
    old: Option<&NodePool<'_>>,
    default: NodeLimitMode,
) -> Option<DefaultValue> {
    let texts = Texts::of(pool);
    let copy = |mode: NodeLimitMode| {
        let copied = texts
            .annotation
            .map_or(Some(NodeLimitMode::UNWRITTEN), NodeLimitMode::parse)?;
        (copied != mode).then(|| annotate(pool, mode)).flatten()
    };
    if is_missing(pool, old) {
        return copy(default);
    }
    let field = NodeLimitMode::parse(texts.field?)?;
    if texts.annotation.is_none() {
        return copy(field);
    }
    let old = old?;
    if let Some(newer) = newer_annotation(pool, old) {
        return (newer != field).then(|| DefaultValue {
            path: Disruption::path("nodeLimitMode"),
            value: newer.as_str().into(),
        });
    }
    let old = Texts::of(old);
    let is_field_newer = old.annotation == texts.annotation && old.field != texts.field;
    is_field_newer.then(|| copy(field)).flatten()
}

/// The mode in the annotation if this update changes it, and not the field next to it.
fn newer_annotation(pool: &NodePool<'_>, old: &NodePool<'_>) -> Option<NodeLimitMode> {
    let (new, old) = (Texts::of(pool), Texts::of(old));
    let is_newer = new.field == old.field && new.annotation != old.annotation;
    new.annotation.filter(|_| is_newer).and_then(NodeLimitMode::parse)
}

fn has_field(pool: &NodePool<'_>) -> bool {
    let disruption = pool.disruption.as_ref().present();
    disruption.is_some_and(|disruption| !disruption.node_limit_mode.is_absent())
}

fn has_annotation(pool: &NodePool<'_>) -> bool {
    pool.annotation(NODE_LIMIT_MODE_ANNOTATION).is_some()
}

/// Whether this update removes the field and leaves its copy in the annotation.
fn is_taken_back(pool: &NodePool<'_>, old: &NodePool<'_>) -> bool {
    let (new, old) = (Texts::of(pool), Texts::of(old));
    old.field.is_some() && new.annotation == old.annotation && old.annotation == old.field
}

fn annotate(pool: &NodePool<'_>, mode: NodeLimitMode) -> Option<DefaultValue> {
    let mode = mode.as_str();
    let annotations = FieldPath::of(&["metadata", "annotations"]);
    match &pool.annotations {
        Field::Present(_) => Some(DefaultValue {
            path: annotations.key(NODE_LIMIT_MODE_ANNOTATION),
            value: mode.into(),
        }),
        Field::Absent if pool.has_metadata => {
            let only = (NODE_LIMIT_MODE_ANNOTATION.to_owned(), mode.into());
            Some(DefaultValue {
                path: annotations,
                value: Value::Object(Map::from_iter([only])),
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::defaults::defaults;
    use crate::facts::ApiVersion::V1;
    use crate::facts::Installed;
    use crate::json::Json;
    use crate::policy::DefaultValues;

    /// The mode in the field, and the mode in the annotation.
    type Modes = (Option<&'static str>, Option<&'static str>);

    const ALL: [Option<&str>; 3] = [None, Some("Hard"), Some("Soft")];

    fn pool((field, annotation): Modes) -> Value {
        let mut pool = json!({
            "metadata": {"name": "general"},
            "spec": {"disruption": {"budgets": [], "consolidationPolicy": "WhenEmpty", "consolidateAfter": "1m"}},
        });
        if let Some(mode) = field {
            pool["spec"]["disruption"]["nodeLimitMode"] = mode.into();
        }
        if let Some(mode) = annotation {
            pool["metadata"]["annotations"] = json!({NODE_LIMIT_MODE_ANNOTATION: mode});
        }
        pool
    }

    const DEFAULTS: [NodeLimitMode; 2] = [NodeLimitMode::Hard, NodeLimitMode::Soft];

    /// The pool as it is stored where the policy's mode is Hard.
    fn completed(pool: &Value, old: Option<&Value>) -> Value {
        completed_with(NodeLimitMode::Hard, &TargetKarpenter::default(), pool, old)
    }

    fn completed_with(
        default: NodeLimitMode,
        karpenter: &TargetKarpenter,
        pool: &Value,
        old: Option<&Value>,
    ) -> Value {
        let mut completed = pool.clone();
        let (pool, stored) = (Json::from(pool), old.map(Json::from));
        let stored = stored.as_ref();
        let old = stored.map(|old| NodePool::view(V1, old));
        let view = NodePool::view(V1, &pool);
        let values = DefaultValues {
            node_limit_mode: default,
            ..DefaultValues::default()
        };
        for default in defaults(&view, old.as_ref(), stored, &values, karpenter) {
            let parent = default.path.parent().unwrap().to_pointer();
            let pointer = default.path.to_pointer();
            let key = pointer.rsplit('/').next().unwrap().replace("~1", "/");
            completed.pointer_mut(&parent).unwrap()[key] = default.value;
        }
        completed
    }

    fn modes(pool: &Value) -> (Option<String>, Option<String>) {
        let pool = Json::from(pool);
        let view = NodePool::view(V1, &pool);
        let owned = |text: Option<&str>| text.map(str::to_owned);
        (
            owned(view.node_limit_mode_field()),
            owned(view.node_limit_mode_annotation()),
        )
    }

    fn in_force(pool: &Value) -> Option<NodeLimitMode> {
        NodePool::view(V1, &Json::from(pool)).node_limit_mode()
    }

    /// All pairs of old and new.
    fn updates() -> impl Iterator<Item = (Modes, Modes)> {
        let pairs = || {
            ALL.iter()
                .flat_map(|field| ALL.iter().map(|annotation| (*field, *annotation)))
        };
        pairs().flat_map(move |old| pairs().map(move |new| (old, new)))
    }

    fn without_field(mut pool: Value) -> Value {
        let disruption = pool["spec"]["disruption"].as_object_mut().unwrap();
        disruption.remove("nodeLimitMode");
        pool
    }

    #[test]
    fn a_mode_that_is_not_hard_outlives_the_field() {
        for stored in [None, Some(pool((None, None))), Some(pool((Some("Soft"), None)))] {
            let pool = without_field(completed(&pool((Some("Soft"), None)), stored.as_ref()));
            assert_eq!(in_force(&pool), Some(NodeLimitMode::Soft));
            // The definition lacks the field now: neither object has it.
            let again = completed(&pool, Some(&pool));
            assert_eq!(again, pool, "nothing is written then");
        }
        let hard = pool((Some("Hard"), None));
        assert_eq!(completed(&hard, None), hard, "what holds anyway is not copied");
    }

    #[test]
    fn a_mode_that_the_policy_wants_outlives_the_field_too() {
        let soft = |pool: &Value, old: Option<&Value>| {
            completed_with(NodeLimitMode::Soft, &TargetKarpenter::default(), pool, old)
        };
        let new = soft(&pool((None, None)), None);
        assert_eq!(modes(&new), modes(&pool((Some("Soft"), Some("Soft")))));
        let pruned = without_field(new);
        assert_eq!(soft(&pruned, Some(&pruned)), pruned);
        assert_eq!(in_force(&pruned), Some(NodeLimitMode::Soft));
        let written = soft(&pool((Some("Soft"), None)), None);
        assert_eq!(modes(&written), modes(&pool((Some("Soft"), Some("Soft")))));
        let hard = pool((Some("Hard"), None));
        assert_eq!(soft(&hard, None), hard, "no policy makes a Hard pool Soft");
    }

    #[test]
    fn where_the_definition_lacks_the_field_the_annotation_has_the_mode_that_the_policy_wants() {
        let definition = json!({"metadata": {"name": "nodepools.karpenter.sh"}, "spec": {"versions": [{
            "name": "v1", "schema": {"openAPIV3Schema": {"properties": {"spec": {"properties": {"disruption": {"properties": {}}}}}}},
        }]}});
        let installed = Installed::parse(&definition).expect("a definition");
        let karpenter = TargetKarpenter::default().with_definition(Arc::new(installed));
        let new = pool((None, None));
        for (default, annotation) in [(NodeLimitMode::Hard, None), (NodeLimitMode::Soft, Some("Soft"))] {
            let completed = |new: &Value, old: Option<&Value>| completed_with(default, &karpenter, new, old);
            let stored = completed(&new, None);
            assert_eq!(modes(&stored), modes(&pool((None, annotation))));
            assert_eq!(completed(&stored, None), stored);
            let replaced = completed(&new, Some(&stored));
            assert_eq!(
                replaced, stored,
                "a manifest without the annotation replaces the pool"
            );
        }
    }

    #[test]
    fn a_stored_pool_without_a_mode_gets_none_whatever_the_policy_says() {
        for default in DEFAULTS {
            let stored = pool((None, None));
            let after = completed_with(default, &TargetKarpenter::default(), &stored, Some(&stored));
            assert_eq!(after, stored);
        }
    }

    #[test]
    fn the_mode_of_a_completed_pool_is_the_one_that_is_written() {
        for default in DEFAULTS {
            let of = |new: &Value, old: Option<&Value>| {
                let (new, old) = (Json::from(new), old.map(Json::from));
                let old = old.as_ref().map(|old| NodePool::view(V1, old));
                super::completed(&NodePool::view(V1, &new), old.as_ref(), default)
            };
            for (old, new) in updates() {
                let (old, new) = (pool(old), pool(new));
                for old in [None, Some(&old)] {
                    let after = completed_with(default, &TargetKarpenter::default(), &new, old);
                    let in_force = in_force(&after).unwrap_or(NodeLimitMode::UNWRITTEN);
                    let told = of(&new, old).unwrap_or(NodeLimitMode::UNWRITTEN);
                    assert_eq!(told, in_force, "{default:?}: {old:?} to {new}");
                }
            }
        }
    }

    #[test]
    fn of_two_modes_that_differ_the_one_that_an_update_changes_wins() {
        for (old, new) in updates() {
            let (Some(field), Some(annotation)) = new else {
                continue;
            };
            let wanted = match (old.0 == new.0, old.1 == new.1) {
                (false, true) => (field, field),
                (true, false) => (annotation, annotation),
                _ => (field, annotation),
            };
            let after = completed(&pool(new), Some(&pool(old)));
            let wanted = (Some(wanted.0.to_owned()), Some(wanted.1.to_owned()));
            assert_eq!(modes(&after), wanted, "{old:?} to {new:?}");
        }
    }

    #[test]
    fn what_an_update_removes_is_gone() {
        // The field with its copy: the default applies again.
        let after = completed(
            &pool((None, Some("Soft"))),
            Some(&pool((Some("Soft"), Some("Soft")))),
        );
        assert_eq!(in_force(&after), Some(NodeLimitMode::Hard));
        assert_eq!(modes(&after).0, modes(&after).1);
        // The field next to an annotation with another value: the annotation applies.
        let after = completed(
            &pool((None, Some("Soft"))),
            Some(&pool((Some("Hard"), Some("Soft")))),
        );
        assert_eq!(in_force(&after), Some(NodeLimitMode::Soft));
        // Only the copy: the field applies, and is copied again.
        let after = completed(
            &pool((Some("Soft"), None)),
            Some(&pool((Some("Soft"), Some("Soft")))),
        );
        assert_eq!(modes(&after), modes(&pool((Some("Soft"), Some("Soft")))));
    }

    #[test]
    fn whatever_the_update_completed_it_needs_nothing_more() {
        for default in DEFAULTS {
            let completed = |new: &Value, old: Option<&Value>| {
                completed_with(default, &TargetKarpenter::default(), new, old)
            };
            for (old, new) in updates() {
                let old = pool(old);
                let once = completed(&pool(new), Some(&old));
                assert_eq!(completed(&once, Some(&old)), once, "{old} to {new:?}");
                assert_eq!(completed(&once, Some(&once)), once, "{old} to {new:?}");
                let once = completed(&pool(new), None);
                assert_eq!(completed(&once, None), once, "{new:?}");
            }
        }
    }
}
