//! The times at which the policy forbids all disruption.

use crate::budget::{Budget, Budgets, Reasons, Windows};
use crate::diagnostic::ErrorType;
use crate::karpenter::{ApiVersion, Disruption, NodePool};
use crate::policy::FreezeWindow;
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static FREEZE_WINDOW: Rule = rule!("policy-freeze-window", Error, Poolgate);

pub fn check(pool: &NodePool<'_>, budgets: &Budgets, windows: &[FreezeWindow], findings: &mut Findings<'_>) {
    if windows.is_empty() {
        return;
    }
    for window in windows {
        let wanted = Windows::new(window.schedule.value, window.duration.value.as_duration());
        let is_frozen = |reason| {
            let mut freezes = budgets
                .iter()
                .filter(|budget| budget.is_zero() && budget.has(reason));
            let covers = |freeze: &Budget| match freeze.windows() {
                Some(windows) => windows.cover(&wanted),
                None => freeze.is_always_active(),
            };
            let together = freezes.clone().filter_map(Budget::windows);
            freezes.any(covers) || Windows::cover_together(together, &wanted)
        };
        // The repair of a broken node may go on.
        if Reasons::ALL_BUT_REPAIR.iter().all(is_frozen) {
            continue;
        }
        let (schedule, duration) = (&window.schedule.text, &window.duration.text);
        let title = format!("the policy allows no disruption for {duration} from `{schedule}` (UTC) on");
        let reasons = match pool.version {
            ApiVersion::V1 => format!("reasons: {}, ", Reasons::ALL_BUT_REPAIR.written()),
            ApiVersion::V1Beta1 => String::new(),
        };
        let suggestion = format!(
            "add a budget with nodes: \"0\", {reasons}schedule: \"{schedule}\" and duration: {duration}"
        );
        findings
            .report(
                &FREEZE_WINDOW,
                Disruption::path("budgets"),
                ErrorType::Required,
                title,
            )
            .consequence("no budget blocks it")
            .suggest(suggestion);
    }
}
