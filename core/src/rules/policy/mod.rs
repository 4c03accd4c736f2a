//! The bounds of the policy: the organisation's requirements for every pool. A bound that the policy does not set
//! is not checked.

pub mod budgets;
pub mod capacity_type;
pub mod durations;
pub mod freeze;
pub mod limits;
pub mod node_class;
pub mod template_labels;

use super::findings::Findings;
use super::limits::Limits;
use crate::budget::Budgets;
use crate::karpenter::NodePool;

/// Checks a NodePool against the bounds.
pub fn check(pool: &NodePool<'_>, budgets: &Budgets, limits: &Limits<'_>, findings: &mut Findings<'_>) {
    if pool.spec.present().is_none() {
        return;
    }
    let bounds = &findings.context.policy.bounds;
    limits::check(pool, limits, &bounds.limits, findings);
    let disruption = pool.disruption.as_ref().present();
    if disruption.is_some_and(|disruption| disruption.budgets.as_ref().present().is_some()) {
        budgets::check(budgets, &bounds.budgets, findings);
        freeze::check(pool, budgets, &bounds.budgets.freeze_windows, findings);
    }
    template_labels::check(pool, &bounds.template.required_labels, findings);
    if let Some(allowed) = &bounds.template.capacity_types {
        capacity_type::check(pool, allowed, findings);
    }
    if let Some(allowed) = &bounds.template.node_classes {
        node_class::check(pool, allowed, findings);
    }
    durations::check(pool, &bounds.template, findings);
}

/// The words, joined with commas and `or`.
fn listed<T: AsRef<str>>(words: &[T]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => "nothing".into(),
    }
}
