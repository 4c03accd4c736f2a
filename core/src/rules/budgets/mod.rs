//! `spec.disruption.budgets`: each budget on its own, then all of them together.

pub mod alone;
pub mod coverage;
pub mod list;
pub mod redundant;

use super::findings::Findings;
use crate::budget::{Budgets, Reason, Reasons};
use crate::facts::WHEN_EMPTY;
use crate::pool::{Disruption, Field, NodePool};

/// Checks the budgets of a pool, which are parsed already.
pub fn check(pool: &NodePool<'_>, budgets: &Budgets, findings: &mut Findings<'_>) {
    let Some(disruption) = pool.disruption.as_ref().present() else {
        return;
    };
    let Field::Present(written) = disruption.budgets else {
        return;
    };
    list::check(written, findings);
    let readable: Vec<_> = budgets
        .iter()
        .filter(|budget| alone::check(pool, budget, written.get(budget.index), findings))
        .collect();
    alone::check_joined(&readable, findings);
    let happening = happening(pool, disruption);
    list::check_blocked(pool, happening, budgets, &readable, findings);
    redundant::check(&readable, findings);
    if readable.len() == budgets.len() {
        check_coverage(pool, happening, budgets, findings);
    }
}

/// Checks which reasons and hours no budget covers. An empty list of budgets or reasons has its own rule.
fn check_coverage(pool: &NodePool<'_>, happening: Reasons, budgets: &Budgets, findings: &mut Findings<'_>) {
    let any_for_no_reason = budgets.iter().any(|budget| budget.reasons() == Reasons::NONE);
    if budgets.is_empty() || any_for_no_reason {
        return;
    }
    coverage::check_reasons(pool, happening, budgets, findings);
    coverage::check_hours(pool, happening, budgets, findings);
    coverage::check_all(pool, happening, budgets, findings);
}

/// The reasons for which healthy nodes are disrupted: drift, and consolidation if it is on. Budgets limit the repair of
/// broken nodes as well since 1.15. Without one, Karpenter stops repair when more than a fifth of a pool is broken.
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
