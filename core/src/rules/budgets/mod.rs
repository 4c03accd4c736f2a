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
use crate::karpenter::{Disruption, Field, NodePool, WHEN_EMPTY};

/// Checks the budgets of a pool, which are parsed already.
pub fn check(pool: &NodePool<'_>, budgets: &Budgets, findings: &mut Findings<'_>) {
    let Some(disruption) = pool.disruption.as_ref().present() else {
        return;
    };
    let Field::Present(written) = disruption.budgets else {
        return;
    };
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
        if disruption.consolidation_policy.present() != Some(WHEN_EMPTY) {
            reasons = reasons.with(Reasons::only(Reason::Underutilized));
        }
    }
    reasons
}
