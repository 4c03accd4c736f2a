//! Hours at which no budget holds, so that nothing limits disruption.

use crate::budget::{Budgets, Filling, Gap, GapTimes, Notation, Reason, Reasons};
use crate::diagnostic::ErrorType;
use crate::karpenter::NodePool;
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static BUDGET_ALLOW_WINDOW: Rule = rule!("budget-allow-window", Warning, [Silent], Shown);
pub static BUDGET_UNCOVERED_HOURS: Rule = rule!("budget-uncovered-hours", Info, [Silent], Shown);

/// Reports the hours at which no budget for a reason holds, of those that happen in the pool. All budgets of the pool must
/// be readable. Hours for `Empty` alone are not reported, because all empty nodes may be removed at once without harm.
pub fn check(pool: &NodePool<'_>, happening: Reasons, budgets: &Budgets, findings: &mut Findings<'_>) {
    let replacing = happening.without(Reasons::only(Reason::Empty));
    if reasons_limited_at_times(budgets).and(replacing) == Reasons::NONE {
        return;
    }
    let notation = Notation::of(pool.version, findings.context.release);
    for gap in budgets.gaps(Reasons::ALL_BUT_REPAIR) {
        // Another rule reports a reason without any budget.
        if gap.times == GapTimes::Always || !gap.reasons.has_any(replacing) {
            continue;
        }
        let gap = PoolGap {
            gap,
            happening,
            budgets,
            notation,
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
    notation: Notation,
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
        let unlimited = self.unlimited();
        if opening.is_some() {
            let reason = format!("budgets only restrict: {unlimited}");
            findings
                .report(&BUDGET_ALLOW_WINDOW, path, text, reason)
                .suggest(self.filling())
                .related(budget.path("nodes"));
        } else {
            findings
                .report(
                    &BUDGET_UNCOVERED_HOURS,
                    path,
                    ErrorType::note(&text.into()),
                    unlimited,
                )
                .suggest(self.filling());
        }
    }

    /// What is not limited, and when.
    fn unlimited(&self) -> String {
        let open = self.gap.reasons.and(self.happening);
        let what = if open == self.happening {
            "disruption".to_owned()
        } else {
            open.names(" or ")
        };
        let when = match &self.gap.times {
            GapTimes::Weekly(week) => week.described(),
            GapTimes::Outside(index) => format!("outside the windows of budgets[{index}],"),
            GapTimes::Always => String::new(),
        };
        format!("{when} no budget limits {what}, so all nodes may be disrupted at once")
    }

    /// What to add.
    fn filling(&self) -> String {
        let named = if self.notation.reasons {
            format!(" with reasons: {}", self.gap.reasons.written())
        } else {
            String::new()
        };
        match self.budgets.filling(&self.gap, self.notation) {
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::karpenter::{ApiVersion, KarpenterVersion};
    use crate::rules::testing::{findings_for, infos, warnings};

    fn pool(budgets: &Value) -> Value {
        json!({"spec": {"disruption": {"budgets": budgets}}})
    }

    fn window(nodes: &str, schedule: &str, duration: &str) -> Value {
        json!({"nodes": nodes, "schedule": schedule, "duration": duration})
    }

    fn warned_of(rule: &str, budgets: &Value) -> usize {
        let warned = warnings(&pool(budgets));
        warned.iter().filter(|warning| warning.ends_with(rule)).count()
    }

    #[test]
    fn a_window_to_allow_disruption_gets_a_warning() {
        for budgets in [
            json!([window("10%", "0 2 * * *", "4h")]),
            json!([window("10%", "@monthly", "4h")]),
            json!([window("0", "0 9 * * *", "8h"), window("20%", "0 17 * * *", "15h")]),
            json!([{"nodes": "5", "reasons": ["Empty"]}, window("10%", "0 2 * * *", "4h")]),
        ] {
            assert_eq!(warned_of("[budget-allow-window]", &budgets), 1, "{budgets}");
        }
    }

    #[test]
    fn windows_with_a_budget_around_them_are_fine() {
        for budgets in [
            json!([{"nodes": "20%"}, window("10%", "0 2 * * *", "4h")]),
            json!([window("0", "0 9 * * *", "8h"), window("20%", "0 17 * * *", "16h")]),
            json!([
                window("0", "0 0 * * 1-5", "24h"),
                window("20%", "0 0 * * 0,6", "24h")
            ]),
            json!([
                window("1", "0 0 * 1-6 *", "24h"),
                window("2", "0 0 * 7-12 *", "24h")
            ]),
            json!([window("10%", "@daily", "24h")]),
        ] {
            assert_eq!(warned_of("[budget-allow-window]", &budgets), 0, "{budgets}");
        }
    }

    #[test]
    fn a_window_is_fine_if_all_that_replaces_nodes_is_limited_without_it() {
        let reasons = |reasons: &[&str]| json!({"nodes": "10%", "reasons": reasons});
        let window = window("5", "0 9 * * mon-fri", "8h");
        let all = json!([reasons(&["Underutilized", "Empty", "Drifted"]), window]);
        assert_eq!(warned_of("[budget-allow-window]", &all), 0);
        let mut drift = pool(&json!([reasons(&["Drifted"]), window]));
        assert!(warnings(&drift)[0].ends_with("[budget-allow-window]"));
        drift["spec"]["disruption"]["consolidateAfter"] = json!("Never");
        assert_eq!(warnings(&drift), [""; 0]);
    }

    #[test]
    fn it_is_said_which_reasons_are_open_when_and_which_budget_closes_them() {
        let some = json!({"nodes": "50%", "reasons": ["Empty", "Underutilized"]});
        for (budgets, said) in [
            (
                json!([window("20%", "0 8 * * *", "10h"), some]),
                "spec.disruption.budgets[0].schedule: Invalid value: \"0 8 * * *\": budgets only restrict: from Mon 18:00 \
                 UTC for 14h, and 6 more times a week, no budget limits Drifted, so all nodes may be disrupted at \
                 once; add {nodes: \"0\", reasons: [Drifted], schedule: \"0 18 * * *\", duration: 14h} to allow none \
                 then, or another number to allow that many [budget-allow-window]",
            ),
            (
                json!([window("10%", "0 2 * * sat", "4h")]),
                "spec.disruption.budgets[0].schedule: Invalid value: \"0 2 * * sat\": budgets only restrict: from Sat \
                 06:00 UTC for 164h, no budget limits disruption, so all nodes may be disrupted at once; add \
                 {nodes: \"0\", reasons: [Underutilized, Empty, Drifted], schedule: \"0 6 * * sat\", duration: 164h} to \
                 allow none then, or another number to allow that many [budget-allow-window]",
            ),
            (
                json!([window("10%", "@monthly", "4h"), some]),
                "spec.disruption.budgets[0].schedule: Invalid value: \"@monthly\": budgets only restrict: outside the \
                 windows of budgets[0], no budget limits Drifted, so all nodes may be disrupted at once; add budgets with \
                 reasons: [Drifted] for all other hours [budget-allow-window]",
            ),
        ] {
            assert_eq!(warnings(&pool(&budgets)), [said]);
        }
        let freeze = pool(&json!([window("0", "0 9 * * *", "8h"), some]));
        assert_eq!(
            infos(&freeze),
            [
                "spec.disruption.budgets[0].schedule: \"0 9 * * *\": from Mon 17:00 UTC for 16h, and 6 more times a \
                 week, no budget limits Drifted, so all nodes may be disrupted at once; add {nodes: 10%, reasons: \
                 [Drifted]} [budget-uncovered-hours]"
            ]
        );
    }

    #[test]
    fn an_old_release_is_advised_in_its_notation() {
        let object = pool(&json!([window("10%", "0 2 * * *", "90m")]));
        let help = |version, release| {
            let found = findings_for(version, release, &object).into_iter();
            let mut found = found.filter(|finding| finding.rule == BUDGET_ALLOW_WINDOW.id);
            found
                .next()
                .and_then(|finding| finding.suggestion)
                .map(|help| help.text)
        };
        let add = |budget: &str| {
            Some(format!(
                "add {budget} to allow none then, or another number to allow that many"
            ))
        };
        assert_eq!(
            help(ApiVersion::V1Beta1, KarpenterVersion::new(0, 35, 0)),
            add("{nodes: \"0\", schedule: \"30 3 * * *\", duration: 1350m}")
        );
        assert_eq!(
            help(ApiVersion::V1Beta1, KarpenterVersion::LAST_OF_V1BETA1),
            add("{nodes: \"0\", schedule: \"30 3 * * *\", duration: 22h30m}")
        );
    }

    #[test]
    fn a_freeze_alone_gets_an_info_but_no_warning() {
        let freeze = pool(&json!([window("0", "0 8 * * *", "20h")]));
        assert_eq!(warnings(&freeze), [""; 0]);
        assert!(infos(&freeze)[0].ends_with("[budget-uncovered-hours]"));
        let inside = pool(&json!([{"nodes": "1"}, window("0", "0 8 * * *", "20h")]));
        assert_eq!(infos(&inside), [""; 0]);
    }
}
