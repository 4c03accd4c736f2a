//! The node limit mode in its two places. The field is the user's; the annotation keeps the mode when the
//! definition lacks the field, as after every upgrade of Karpenter's definitions.

use serde_json::{Map, Value};

use super::DefaultValue;
use crate::diagnostic::FieldPath;
use crate::karpenter::{
    Disruption, Field, NODE_LIMIT_MODE_ANNOTATION, NodeLimitMode, NodePool, TargetKarpenter,
};

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

/// The value to write into the absent field; `None` if it stays absent. Not next to a user's annotation, which it
/// would override. Not if the CRD is known to lack the field: the API server stores what a webhook adds to a new
/// object without pruning it, and the next write of the same manifest would remove it. And not into a stored pool
/// without it: on an update the API server does prune, but only after it has incremented the generation, so every
/// write would look like a change.
pub fn field(
    pool: &NodePool<'_>,
    old: Option<&NodePool<'_>>,
    default: NodeLimitMode,
    karpenter: &TargetKarpenter,
) -> Option<Value> {
    let is_absent = pool
        .disruption
        .as_ref()
        .present()
        .is_none_or(|disruption| disruption.node_limit_mode.is_absent());
    if !is_absent || karpenter.keeps_node_limit_mode(pool.version) == Some(false) {
        return None;
    }
    let has_mode = |old: &NodePool<'_>| {
        let disruption = old.disruption.as_ref().present();
        disruption.is_some_and(|disruption| !disruption.node_limit_mode.is_absent())
    };
    let is_wanted = if pool.annotation(NODE_LIMIT_MODE_ANNOTATION).is_some() {
        old.is_some_and(|old| is_taken_back(pool, old))
    } else {
        old.is_none_or(has_mode)
    };
    is_wanted.then(|| default.as_str().into())
}

/// The value to write so that both places agree: if they differ after an update, the one that the update changed
/// wins. `default` applies without either, so it need not be kept.
pub fn agreement(
    pool: &NodePool<'_>,
    old: Option<&NodePool<'_>>,
    written: Option<&Value>,
    default: NodeLimitMode,
) -> Option<DefaultValue> {
    let texts = Texts::of(pool);
    let field = texts.field.or_else(|| written.and_then(Value::as_str))?;
    let mode = NodeLimitMode::parse(field)?;
    let Some(annotation) = texts.annotation else {
        return (mode != default).then(|| annotate(pool, field)).flatten();
    };
    let other = NodeLimitMode::parse(annotation)?;
    let old = Texts::of(old?);
    match (old.field == texts.field, old.annotation == texts.annotation) {
        _ if other == mode => None,
        (false, true) => annotate(pool, field),
        (true, false) => Some(DefaultValue {
            path: Disruption::path("nodeLimitMode"),
            value: annotation.into(),
        }),
        _ => None,
    }
}

/// Whether this update removes the field and leaves its copy in the annotation.
fn is_taken_back(pool: &NodePool<'_>, old: &NodePool<'_>) -> bool {
    let (new, old) = (Texts::of(pool), Texts::of(old));
    old.field.is_some() && new.annotation == old.annotation && old.annotation == old.field
}

fn annotate(pool: &NodePool<'_>, mode: &str) -> Option<DefaultValue> {
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
    use serde_json::json;

    use super::*;
    use crate::defaults::defaults;
    use crate::json::Json;
    use crate::karpenter::ApiVersion::V1;
    use crate::karpenter::Stored;
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

    fn completed(pool: &Value, old: Option<&Value>) -> Value {
        let mut completed = pool.clone();
        let (pool, stored) = (Json::from(pool), old.map(Json::from));
        let stored = stored.as_ref();
        let old = stored.map(|old| NodePool::view(V1, old));
        let view = NodePool::view(V1, &pool);
        for default in defaults(
            &view,
            old.as_ref(),
            stored.map(Stored::Whole),
            &DefaultValues::default(),
            &TargetKarpenter::default(),
        ) {
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

    #[test]
    fn a_mode_that_is_not_the_default_outlives_the_field() {
        for stored in [None, Some(pool((None, None))), Some(pool((Some("Soft"), None)))] {
            let mut pool = completed(&pool((Some("Soft"), None)), stored.as_ref());
            pool["spec"]["disruption"]
                .as_object_mut()
                .unwrap()
                .remove("nodeLimitMode");
            assert_eq!(in_force(&pool), Some(NodeLimitMode::Soft));
            // The definition lacks the field now: neither object has it.
            let again = completed(&pool, Some(&pool));
            assert_eq!(again, pool, "nothing is written then");
        }
        let hard = pool((Some("Hard"), None));
        assert_eq!(completed(&hard, None), hard, "what holds anyway is not copied");
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
        for (old, new) in updates() {
            let old = pool(old);
            let once = completed(&pool(new), Some(&old));
            assert_eq!(completed(&once, Some(&old)), once, "{old} to {new:?}");
            assert_eq!(completed(&once, Some(&once)), once, "{old} to {new:?}");
        }
    }
}
