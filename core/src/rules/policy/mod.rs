//! The bounds of the policy: the organisation's requirements for every pool. A bound that the policy does not set
//! is not checked.

pub mod budgets;
pub mod limits;
pub mod template;

use super::findings::Findings;
use super::limits::Limits;
use crate::budget::Budgets;
use crate::karpenter::{Field, NodePool};

/// Checks a NodePool against the bounds.
pub fn check(pool: &NodePool<'_>, budgets: &Budgets, limits: &Limits<'_>, findings: &mut Findings<'_>) {
    if pool.spec.present().is_none() {
        return;
    }
    let bounds = &findings.context.policy.bounds;
    limits::check(pool, limits, &bounds.limits, findings);
    let list = match &pool.disruption {
        Field::Present(disruption) => disruption.budgets.as_ref().map(|_| ()),
        Field::Absent => Field::Absent,
        Field::Mistyped | Field::Beyond => Field::Mistyped,
    };
    let completed = list
        .is_absent()
        .then(|| Budgets::of_definition(pool, findings.context.karpenter))
        .flatten();
    let budgets = match (list, &completed) {
        (Field::Mistyped, _) => None,
        // A list that is too long to be read fulfils nothing.
        (Field::Present(()) | Field::Beyond, _) => Some(budgets),
        (Field::Absent, Some(completed)) => Some(completed),
        // The webhook writes the policy's budgets, which satisfy its bounds.
        (Field::Absent, None) => findings
            .context
            .policy
            .cluster
            .has_no_webhook()
            .then_some(budgets),
    };
    if let Some(budgets) = budgets {
        budgets::check(pool, budgets, &bounds.budgets, findings);
    }
    template::check(pool, &bounds.template, findings);
}
