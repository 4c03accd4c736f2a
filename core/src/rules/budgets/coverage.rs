//! Reasons and hours without a budget, or with only one of 100%, so that nothing limits disruption.

use std::time::Duration;

use super::list;
use crate::budget::{Budget, Budgets, Filling, Gap, GapTimes, Reason, Reasons, budget_text};
use crate::diagnostic::ErrorType;
use crate::facts::{ApiVersion, BALANCED, KarpenterVersion};
use crate::pool::{Disruption, NodePool};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;
use crate::value::duration::NillableDuration;
use crate::value::nodes::BudgetNodes;

pub static BUDGET_ALLOW_WINDOW: Rule = rule!("budget-allow-window", Warning, Silent);
pub static BUDGET_UNCOVERED_HOURS: Rule = rule!("budget-uncovered-hours", Note, Silent);
pub static BUDGET_UNCOVERED_REASON: Rule = rule!("budget-uncovered-reason", Warning, Silent);
pub static BUDGET_OF_ALL: Rule = rule!("budget-of-all", Note, Silent);

/// Nodes that must be unchanged for less than this are consolidated after each scale-down.
const PROMPT: Duration = Duration::from_mins(1);

/// Reports reasons that no budget covers, of those that replace nodes and happen in the pool. All budgets of the pool must
/// be readable.
pub fn check_reasons(
    pool: &NodePool<'_>,
    happening: Reasons,
    budgets: &Budgets,
    findings: &mut Findings<'_>,
) {
    let replacing = happening.without(Reasons::only(Reason::Empty));
    let covered = budgets
        .iter()
        .fold(Reasons::NONE, |covered, budget| covered.with(budget.reasons()));
    let uncovered = replacing.without(covered);
    if uncovered == Reasons::NONE {
        return;
    }
    let title = format!("no budget covers {}", uncovered.names(" or "));
    // One without reasons would also apply beside the others.
    let budget = budget_text(pool.version, "10%", uncovered, None);
    findings
        .report(
            &BUDGET_UNCOVERED_REASON,
            list::path(),
            ErrorType::showing("[…]"),
            title,
        )
        .consequence("all nodes of the pool may be disrupted at the same time")
        .suggest(format!("add a budget such as {budget}"));
}

/// Reports a budget that lets all nodes be consolidated at the same time, in a pool that does so without delay, or within a
/// minute where Karpenter has a policy against that: if all budgets that cover it do. All budgets of the pool must be
/// readable.
pub fn check_all(pool: &NodePool<'_>, happening: Reasons, budgets: &Budgets, findings: &mut Findings<'_>) {
    let underused = Reasons::only(Reason::Underutilized);
    let mut covering = budgets
        .iter()
        .filter(|budget| budget.reasons().has_any(underused));
    let is_all = |budget: &Budget| budget.nodes() == Some(BudgetNodes::Percent(100));
    let Some(first) = covering.next().filter(|first| is_all(first)) else {
        return;
    };
    let disruption = pool.disruption.as_ref().present();
    let after = disruption.and_then(|disruption| disruption.consolidate_after.present());
    let Some((text, NillableDuration::After(length))) =
        after.and_then(|text| Some((text, NillableDuration::parse(text).ok()?)))
    else {
        return;
    };
    if !happening.has_any(underused) || !covering.all(is_all) {
        return;
    }
    let limit = "write reasons: [Empty] here, and add a lower budget for other reasons";
    let (consequence, advice) = if length.is_zero() {
        (
            "all underutilized nodes may be disrupted at the same time as soon as a pod leaves",
            limit.to_owned(),
        )
    } else if length < PROMPT && may_be_balanced(disruption, findings) {
        (
            "all underutilized nodes may be disrupted at the same time, however little that saves",
            format!(
                "write consolidationPolicy: Balanced, which weighs savings against disruption, or {limit}"
            ),
        )
    } else {
        return;
    };
    findings
        .report(
            &BUDGET_OF_ALL,
            first.path("nodes"),
            ErrorType::note(&"100%".into()),
            format!("a budget of 100% limits no consolidation, and consolidateAfter is {text}"),
        )
        .consequence(consequence)
        .related(Disruption::path("consolidateAfter"))
        .suggest(advice);
}

/// Whether the pool could say `Balanced`, and does not.
fn may_be_balanced(disruption: Option<&Disruption<'_>>, findings: &Findings<'_>) -> bool {
    let policy = disruption.and_then(|disruption| disruption.consolidation_policy.present());
    policy != Some(BALANCED)
        && findings
            .context
            .karpenter
            .release()
            .has(KarpenterVersion::BALANCED)
}

/// Reports the hours at which no budget limits a reason that happens in the pool. All budgets of the pool must
/// be readable. Hours for `Empty` alone are not reported, because all empty nodes may be removed simultaneously without harm.
pub fn check_hours(pool: &NodePool<'_>, happening: Reasons, budgets: &Budgets, findings: &mut Findings<'_>) {
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

    /// The reasons without a limit.
    fn unlimited(&self) -> String {
        let open = self.gap.reasons.and(self.happening);
        if open == self.happening {
            "disruption".to_owned()
        } else {
            open.names(" or ")
        }
    }

    /// The times without a limit.
    fn when(&self) -> String {
        match &self.gap.times {
            GapTimes::Weekly(week) => week.described(),
            GapTimes::Outside(index) => format!("outside the windows of budgets[{index}],"),
            GapTimes::Always => String::new(),
        }
    }

    /// The budgets to add.
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
                    " to block these hours (or allow more nodes)"
                } else {
                    ""
                };
                format!("add {}{also}", budgets.join(" and "))
            }
            Filling::Many => format!(
                "add budgets{named} for the other hours, for example with `poolgate budgets plan --allow HOURS`"
            ),
            Filling::Irregular => format!("add budgets{named} for all other hours"),
        }
    }
}

#[cfg(test)]
mod tests {
    //! A suggested budget, added to the letter, has the promised effect and no other.

    use jiff::{SignedDuration, Timestamp};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use crate::budget::{Budgets, Reason};
    use crate::facts::{ApiVersion, KarpenterVersion};
    use crate::json::Json;
    use crate::manifest::{Limits, parse};
    use crate::pool::NodePool;
    use crate::rules::testing::findings_for;

    /// The rules whose suggestions are budgets to add.
    const ADDING: [&str; 3] = [
        "budget-allow-window",
        "budget-uncovered-hours",
        "budget-uncovered-reason",
    ];

    /// A Sunday.
    const WEEK: &str = "2026-01-04T00:00:00Z";

    fn pool(budgets: &[Value]) -> Value {
        json!({"spec": {"disruption": {"budgets": budgets}}})
    }

    /// Each finding about budgets: its rule, its field and its suggestion.
    fn found(budgets: &[Value]) -> Vec<(String, String, String)> {
        findings_for(ApiVersion::V1, KarpenterVersion::NEWEST, &pool(budgets))
            .into_iter()
            .filter(|finding| finding.rule.as_str().starts_with("budget-"))
            .map(|finding| {
                let text = finding.help.map(|suggestion| suggestion.text);
                (
                    finding.rule.as_str().to_owned(),
                    finding.path.to_string(),
                    text.unwrap_or_default(),
                )
            })
            .collect()
    }

    /// The budgets in a suggestion, read as YAML.
    fn written(suggestion: &str) -> Vec<Value> {
        let mut budgets = Vec::new();
        for part in suggestion.split('{').skip(1) {
            let (budget, _) = part.split_once('}').expect("an end");
            let text = format!("{{{budget}}}");
            let document = parse(&text, &Limits::default());
            budgets.push(document.into_iter().next().expect("a budget").into_value());
        }
        budgets
    }

    /// What is allowed for each reason in each quarter of an hour of a week.
    fn allowed(budgets: &[Value]) -> Vec<[Option<u32>; 4]> {
        let object = pool(budgets);
        let object = Json::from(&object);
        let budgets = Budgets::parse(&NodePool::view(ApiVersion::V1, &object)).expect("budgets");
        let rows = budgets.periods(
            &Reason::ALL,
            17,
            WEEK.parse::<Timestamp>().expect("an instant"),
            SignedDuration::from_mins(15),
            7 * 24 * 4,
        );
        let quarters = rows.first().map_or(0, Vec::len);
        (0..quarters)
            .map(|quarter| std::array::from_fn(|reason| rows[reason][quarter].lowest.nodes()))
            .collect()
    }

    fn budget() -> impl Strategy<Value = Value> {
        let nodes = prop::sample::select(vec!["0", "1", "5", "10%", "50%"]);
        let reasons = prop::sample::select(vec![
            json!(null),
            json!(null),
            json!(["Drifted"]),
            json!(["Empty", "Underutilized"]),
            json!(["Underutilized", "Drifted"]),
            json!(["Underutilized", "Empty", "Drifted"]),
        ]);
        let days = prop::sample::select(vec!["*", "*", "mon-fri", "sat,sun", "wed"]);
        let window = prop::option::weighted(0.8, (0..24_u32, days, 1..30_u32));
        (nodes, reasons, window).prop_map(|(nodes, reasons, window)| {
            let mut budget = json!({"nodes": nodes, "reasons": reasons});
            if let Some((hour, days, length)) = window {
                budget["schedule"] = format!("0 {hour} * * {days}").into();
                budget["duration"] = format!("{}m", length * 45).into();
            }
            budget
        })
    }

    proptest! {
        #[test]
        fn added_to_the_letter_a_suggestion_limits_what_was_open_and_nothing_else(
            budgets in prop::collection::vec(budget(), 1..4)
        ) {
            let before = found(&budgets);
            let mut changed = budgets.clone();
            let mut spelt_out = true;
            for (rule, _, suggestion) in &before {
                if ADDING.contains(&rule.as_str()) {
                    let added = written(suggestion);
                    spelt_out &= !added.is_empty();
                    changed.extend(added);
                }
            }
            let after = found(&changed);
            let others = |all: &[(String, String, String)]| -> Vec<(String, String)> {
                let kept = all.iter().filter(|(rule, ..)| !ADDING.contains(&rule.as_str()));
                kept.map(|(rule, path, _)| (rule.clone(), path.clone())).collect()
            };
            // A budget that never counted may now be below another one, too.
            prop_assert_eq!(others(&after), others(&before), "{:?}", changed);
            if spelt_out {
                let left = after.iter().find(|(rule, ..)| ADDING.contains(&rule.as_str()));
                prop_assert_eq!(left, None, "{:?}", changed);
            }
            for (old, new) in allowed(&budgets).into_iter().zip(allowed(&changed)) {
                for (reason, (old, new)) in Reason::ALL.into_iter().zip(old.into_iter().zip(new)) {
                    let is_replacing = matches!(reason, Reason::Underutilized | Reason::Drifted);
                    prop_assert!(old.is_none() || new == old, "{:?}: {:?} {:?}", reason, old, changed);
                    prop_assert!(!spelt_out || !is_replacing || new.is_some(), "{:?} {:?}", reason, changed);
                }
            }
        }
    }
}
