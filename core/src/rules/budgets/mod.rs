//! `spec.disruption.budgets`: each budget by itself, then all of them together.

pub mod coverage;
pub mod list;
pub mod nodes;
pub mod reasons;
pub mod redundant;
#[cfg(test)]
mod suggested;
pub mod uncovered;
pub mod window;

use super::findings::Findings;
use crate::budget::{Budget, Budgets, Reason, Reasons};
use crate::json::Json;
use crate::karpenter::{Disruption, Field, NodePool};

/// Checks the budgets of a pool, which are parsed already.
pub fn check(pool: &NodePool<'_>, budgets: &Budgets, findings: &mut Findings<'_>) {
    let Some(disruption) = pool.disruption.as_ref().present() else {
        return;
    };
    let Field::Present(written) = disruption.budgets else {
        return;
    };
    if !list::check_release(findings) {
        return;
    }
    let few_enough = list::check(pool.version, written, findings);
    let readable: Vec<_> = budgets
        .iter()
        .filter(|budget| check_alone(pool, budget, written.get(budget.index), findings))
        .collect();
    // Budgets are compared with each other only if the list has a legal length.
    if few_enough {
        let happening = happening(pool, disruption);
        list::check_blocked(pool, happening, budgets, &readable, findings);
        redundant::check(&readable, findings);
        if readable.len() == budgets.len() {
            check_coverage(pool, happening, budgets, findings);
        }
    }
}

/// Checks which reasons and hours no budget covers. An empty list of budgets or reasons has its own rule.
fn check_coverage(pool: &NodePool<'_>, happening: Reasons, budgets: &Budgets, findings: &mut Findings<'_>) {
    let any_for_no_reason = budgets.iter().any(|budget| budget.reasons() == Reasons::NONE);
    if budgets.is_empty() || any_for_no_reason {
        return;
    }
    uncovered::check(pool, happening, budgets, findings);
    coverage::check(pool, happening, budgets, findings);
}

/// Checks one budget. Returns whether all of it can be read, so that it can be compared with others.
fn check_alone(
    pool: &NodePool<'_>,
    budget: &Budget,
    written: Option<&Json<'_>>,
    findings: &mut Findings<'_>,
) -> bool {
    nodes::check(budget, findings);
    reasons::check(pool.version, budget, written, findings);
    let has_times = window::check(budget, findings);
    has_times && budget.nodes().is_some() && budget.reasons != Field::Mistyped && !budget.has_unknown_field
}

/// The reasons for which healthy nodes are disrupted: drift, and consolidation if it is on. Budgets limit the repair of
/// broken nodes, too, from 1.15 on, but without one Karpenter stops it by itself when more than a fifth of a pool is broken.
fn happening(pool: &NodePool<'_>, disruption: &Disruption<'_>) -> Reasons {
    let mut reasons = Reasons::only(Reason::Drifted);
    if pool.replicas.is_absent() && disruption.consolidate_after.present() != Some("Never") {
        reasons = reasons.with(Reasons::only(Reason::Empty));
        if disruption.consolidation_policy.present() != Some("WhenEmpty") {
            reasons = reasons.with(Reasons::only(Reason::Underutilized));
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::rules::testing::{errors, warnings};

    #[test]
    fn usual_budgets_pass() {
        for budgets in [
            json!([{"nodes": "100%"}]),
            json!([{"nodes": "20%"}, {"nodes": "5"}]),
        ] {
            assert_eq!(
                warnings(&json!({"spec": {"disruption": {"budgets": budgets}}})),
                [""; 0]
            );
        }
        let object = json!({"spec": {"disruption": {"budgets": [
            {},
            {"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"},
            {"nodes": "5", "schedule": "@daily", "duration": "1h30m", "reasons": ["Drifted"]},
        ]}}});
        assert_eq!(errors(&object), [""; 0]);
        assert_eq!(warnings(&object), [""; 0]);
    }

    #[test]
    fn budgets_are_not_compared_if_one_cannot_be_read() {
        let object = json!({"spec": {"disruption": {"budgets": [
            {"nodes": "0", "reasons": ["Drifted"], "schedule": "0 9 * * 7", "duration": "8h"},
            {"nodes": "5", "reasons": ["Empty"]},
        ]}}});
        assert_eq!(errors(&object).len(), 1);
        assert_eq!(warnings(&object), [""; 0]);
    }
}
