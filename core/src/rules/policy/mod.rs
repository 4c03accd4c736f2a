//! The bounds of the policy: the organisation's requirements for every pool. A bound that the policy does not set
//! is not checked.

pub mod budgets;
pub mod limits;
pub mod template;

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
        budgets::check(pool, budgets, &bounds.budgets, findings);
    }
    template::check(pool, &bounds.template, findings);
}
