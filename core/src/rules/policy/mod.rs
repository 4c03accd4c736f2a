//! The bounds of the policy: the organisation's requirements for every pool. A bound that the policy does not set
//! is not checked.

pub mod budgets;
pub mod limits;
pub mod template;

use super::findings::Findings;
use super::limits::PoolLimits;
use crate::budget::Budgets;
use crate::pool::{Field, NodePool};

/// Checks a NodePool against the bounds.
pub fn check(pool: &NodePool<'_>, budgets: &Budgets, limits: &PoolLimits<'_>, findings: &mut Findings<'_>) {
    if pool.spec.present().is_none() {
        return;
    }
    let bounds = &findings.context.policy.bounds;
    limits::check(pool, limits, &bounds.limits, findings);
    let list = match &pool.disruption {
        Field::Present(disruption) => disruption.budgets.map(drop),
        other => other.as_ref().map(drop),
    };
    let is_checked = match list {
        Field::Mistyped => false,
        // A list that is too long to be read fulfils nothing.
        Field::Present(()) | Field::Beyond => true,
        // The webhook writes the policy's budgets, which satisfy its bounds.
        Field::Absent => findings.context.policy.cluster.has_no_webhook(),
    };
    if is_checked {
        budgets::check(pool, budgets, &bounds.budgets, findings);
    }
    template::check(pool, &bounds.template, findings);
}
