//! The bounds of the policy: what every pool must keep to because the organisation says so. A bound that the
//! policy does not set is silent.

pub(super) mod budgets;
pub(super) mod capacity_type;
pub(super) mod durations;
pub(super) mod freeze;
pub(super) mod limits;
pub(super) mod node_class;
pub(super) mod template_labels;

use serde_json::{Map, Value};

use super::findings::Findings;
use crate::diagnostic::FieldPath;
use crate::karpenter::{NodePool, TemplateOwner};
use crate::policy::Bounds;

/// Holds a NodePool, which is a view of `object`, against the bounds.
pub(super) fn check(pool: &NodePool<'_>, object: &Value, bounds: &Bounds, findings: &mut Findings<'_>) {
    if pool.spec.present().is_none() {
        return;
    }
    limits::check(pool, object, &bounds.limits, findings);
    budgets::check(pool, &bounds.budgets, findings);
    freeze::check(pool, &bounds.budgets.freeze_windows, findings);
    template_labels::check(pool, object, &bounds.template.required_labels, findings);
    if let Some(allowed) = &bounds.template.capacity_types {
        capacity_type::check(pool, object, allowed, findings);
    }
    if let Some(allowed) = &bounds.template.node_classes {
        node_class::check(pool, allowed, findings);
    }
    durations::check(pool, object, &bounds.template, findings);
}

/// The elements of the requirements that are objects; none if they are of the wrong type.
fn requirements(object: &Value) -> impl Iterator<Item = &Map<String, Value>> {
    let list = TemplateOwner::Pool
        .path("requirements")
        .find(object)
        .and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_object)
}

/// Whether a part of the object is of the wrong type, which another rule speaks of.
fn is_mistyped(path: &FieldPath, object: &Value, is_right: impl FnOnce(&Value) -> bool) -> bool {
    path.find(object).is_some_and(|value| !is_right(value))
}

/// Some of the words of a list, for a sentence.
fn listed<T: AsRef<str>>(words: &[T]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => "nothing".into(),
    }
}

#[cfg(test)]
mod testing;
