//! Hours at which no budget holds, so that nothing limits disruption.

use crate::budget::{Budgets, Filling, Gap, GapTimes, Reason, Reasons};
use crate::diagnostic::ErrorType;
use crate::karpenter::{ApiVersion, NodePool};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static BUDGET_ALLOW_WINDOW: Rule = rule!("budget-allow-window", Warning, Silent);
pub static BUDGET_UNCOVERED_HOURS: Rule = rule!("budget-uncovered-hours", Info, Silent);

/// Reports the hours at which no budget for a reason holds, of those that happen in the pool. All budgets of the pool must
/// be readable. Hours for `Empty` alone are not reported, because all empty nodes may be removed at once without harm.
pub fn check(pool: &NodePool<'_>, happening: Reasons, budgets: &Budgets, findings: &mut Findings<'_>) {
    let replacing = happening.without(Reasons::only(Reason::Empty));
    if reasons_limited_at_times(budgets).and(replacing) == Reasons::NONE {
        return;
    }
    for gap in budgets.gaps(Reasons::ALL_BUT_REPAIR) {
        // Another rule reports a reason without any budget.
        if gap.times == GapTimes::Always || !gap.reasons.has_any(replacing) {
            continue;
        }
        let gap = PoolGap {
            gap,
            happening,
            budgets,
            version: pool.version,
        };
        gap.report(findings);
    }
}

/// The reasons for which budgets hold only at some times.
fn reasons_limited_at_times(budgets: &Budgets) -> Reasons {
    let named = |always: bool| {
        budgets
            .iter()
            .filter(|budget| budget.is_always_active() == always)
            .fold(Reasons::NONE, |reasons, budget| reasons.with(budget.reasons()))
    };
    named(false).without(named(true))
}

/// Times at which no budget of a pool limits some reasons.
struct PoolGap<'p> {
    gap: Gap,
    happening: Reasons,
    budgets: &'p Budgets,
    version: ApiVersion,
}

impl PoolGap<'_> {
    /// Reports it at the first budget that seems to allow disruption in its window, or else at the first freeze.
    fn report(&self, findings: &mut Findings<'_>) {
        let mut windows = self
            .budgets
            .iter()
            .filter(|budget| budget.reasons().has_any(self.gap.reasons));
        let Some(first) = windows.clone().next() else {
            return;
        };
        let opening = windows.find(|budget| !budget.is_zero());
        let budget = opening.unwrap_or(first);
        let path = budget.path("schedule");
        let schedule = budget.schedule.as_ref().present();
        let text = schedule.map_or("", |schedule| &schedule.text);
        let (what, when) = (self.unlimited(), self.when());
        let consequence = format!("{when} all nodes may be disrupted at the same time");
        if opening.is_some() {
            let title = format!("budgets only restrict, and none limits {what} at some hours");
            findings
                .report(&BUDGET_ALLOW_WINDOW, path, text, title)
                .consequence(consequence)
                .suggest(self.filling())
                .related(budget.path("nodes"));
        } else {
            findings
                .report(
                    &BUDGET_UNCOVERED_HOURS,
                    path,
                    ErrorType::note(&text.into()),
                    format!("no budget limits {what} at some hours"),
                )
                .consequence(consequence)
                .suggest(self.filling());
        }
    }

    /// What is not limited.
    fn unlimited(&self) -> String {
        let open = self.gap.reasons.and(self.happening);
        if open == self.happening {
            "disruption".to_owned()
        } else {
            open.names(" or ")
        }
    }

    /// When it is not limited.
    fn when(&self) -> String {
        match &self.gap.times {
            GapTimes::Weekly(week) => week.described(),
            GapTimes::Outside(index) => format!("outside the windows of budgets[{index}],"),
            GapTimes::Always => String::new(),
        }
    }

    /// What to add.
    fn filling(&self) -> String {
        let named = if self.version == ApiVersion::V1 {
            format!(" with reasons: {}", self.gap.reasons.written())
        } else {
            String::new()
        };
        match self.budgets.filling(&self.gap, self.version) {
            Filling::Always(budget) => format!("add {budget}"),
            Filling::Hours { budgets, is_freeze } => {
                let also = if is_freeze {
                    " to allow none then, or another number to allow that many"
                } else {
                    ""
                };
                format!("add {}{also}", budgets.join(" and "))
            }
            Filling::Many => format!(
                "add budgets{named} for the other hours: `poolgate budgets plan --allow HOURS` writes those of 0"
            ),
            Filling::Irregular => format!("add budgets{named} for all other hours"),
        }
    }
}
