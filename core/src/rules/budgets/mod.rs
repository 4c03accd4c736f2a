//! `spec.disruption.budgets`: each budget by itself, then all of them together.

pub mod coverage;
pub mod list;
pub mod nodes;
mod reading;
pub mod reasons;
pub mod redundant;
pub mod uncovered;
pub mod window;

use super::findings::Findings;
use crate::budget::Reasons;
use crate::karpenter::{Budget, Disruption, Field, NodePool};
use reading::ReadBudget;

pub fn check(pool: &NodePool<'_>, findings: &mut Findings<'_>) {
    let Some(disruption) = pool.disruption.as_ref().present() else {
        return;
    };
    let Field::Present(budgets) = &disruption.budgets else {
        return;
    };
    let few_enough = list::check(budgets, findings);
    let readings: Vec<_> = budgets
        .iter()
        .filter_map(|budget| check_alone(pool, budget, findings))
        .collect();
    // Budgets are compared with each other only if the list has a legal length.
    if few_enough {
        list::check_blocked(pool, &readings, findings);
        redundant::check(&readings, findings);
        check_coverage(pool, disruption, budgets.len(), &readings, findings);
    }
}

/// Checks which reasons and hours no budget covers, if all budgets can be read. An empty list of budgets or reasons
/// has its own rule.
fn check_coverage(
    pool: &NodePool<'_>,
    disruption: &Disruption<'_>,
    count: usize,
    readings: &[ReadBudget<'_>],
    findings: &mut Findings<'_>,
) {
    let any_for_no_reason = readings.iter().any(|reading| reading.reasons == Reasons::NONE);
    if count == 0 || readings.len() < count || any_for_no_reason {
        return;
    }
    let replacing = reading::replacing(pool, disruption);
    uncovered::check(replacing, readings, findings);
    coverage::check(replacing, readings, findings);
}

/// Checks one budget. Returns it if all of it can be read.
fn check_alone<'a>(
    pool: &NodePool<'_>,
    budget: &'a Budget<'a>,
    findings: &mut Findings<'_>,
) -> Option<ReadBudget<'a>> {
    let nodes = nodes::check(budget, findings);
    reasons::check(pool.version, budget, findings);
    let window = window::check(budget, findings);
    Some(ReadBudget {
        budget,
        nodes: nodes?,
        reasons: Reasons::of(budget, pool.version)?,
        window: window?,
    })
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
