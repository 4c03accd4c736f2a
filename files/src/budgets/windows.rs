//! Notes on windows: those that join, drains that outlast the hours in which they began, and times at which no budget limits
//! disruption.

use jiff::Timestamp;
use poolgate_core::budget::{
    Allowance, Budget, Change, Filling, Gap, Reason, Reasons, Timing, WrittenWindow,
};
use poolgate_core::diagnostic::counted;
use poolgate_core::pool::Field;
use poolgate_core::value::nodes::BudgetNodes;

use super::subject::{Subject, hours, nodes_text, unquoted};
use crate::clock::Clock;

/// Most windows that are spelt out.
const SPELT_OUT: usize = 3;

/// A schedule that fires again inside its own window: the windows join, often to more than was intended.
pub fn joined(subject: &Subject<'_>) -> Option<String> {
    let mut budgets = subject.budgets.iter();
    let (budget, week) = budgets.find_map(|budget| Some((budget, budget.windows()?.joined()?)))?;
    let duration = &*budget.duration.as_ref().present()?.text;
    let windows = week.windows();
    let spelt_out = |duration: Option<&str>| -> String {
        let each = windows.iter().filter_map(|window| match window {
            WrittenWindow::Scheduled {
                schedule,
                duration: whole,
            } => Some(format!(
                "schedule: \"{schedule}\", duration: {}",
                duration.unwrap_or(whole)
            )),
            WrittenWindow::Always => None,
        });
        each.collect::<Vec<_>>().join(" and ")
    };
    let instead = if windows.len() > SPELT_OUT {
        String::new()
    } else {
        format!(
            " For separate windows of {duration} write {}. To keep the joined window write {}.",
            spelt_out(Some(duration)),
            spelt_out(None)
        )
    };
    Some(format!(
        "{} fires again before its window of {duration} has ended, so its windows join. It is active {}.{instead}",
        subject.called(budget.index),
        week.described().trim_end_matches(',')
    ))
}

/// A percentage that is the whole pool, because it is rounded up.
pub fn rounded(subject: &Subject<'_>) -> Option<String> {
    let nodes = subject.nodes;
    let is_whole = |budget: &&Budget| {
        let is_part =
            matches!(budget.nodes(), Some(BudgetNodes::Percent(percent)) if (1..100).contains(&percent));
        is_part && nodes > 0 && budget.allows(nodes) >= Some(nodes) && !matches!(budget.timing, Timing::Never)
    };
    let budget = subject.budgets.iter().find(is_whole)?;
    Some(format!(
        "Percentages are rounded up: {} of {} is the whole pool.",
        budget.nodes().map(nodes_text).unwrap_or_default(),
        counted(nodes as usize, "node")
    ))
}

/// What drift does to pods that must not be evicted, if the drain of a node has an end.
pub fn bounded_drain(subject: &Subject<'_>) -> Option<String> {
    let grace = match subject.pool.template.termination_grace_period {
        Field::Present(grace) => unquoted(grace),
        Field::Mistyped | Field::Beyond => return None,
        Field::Absent => {
            let provider = subject.pool.template.provider()?;
            let grace = provider.settings.termination_grace_period?;
            return Some(format!(
                "Without terminationGracePeriod, {} ends the drain of a node after {}h and deletes the remaining pods.",
                provider.name,
                hours(grace)
            ));
        }
    };
    let past = if subject.budgets.iter().any(|budget| budget.windows().is_some()) {
        ", and continues after the window in which it began"
    } else {
        ""
    };
    Some(format!(
        "With terminationGracePeriod Karpenter also replaces drifted nodes whose pods have karpenter.sh/do-not-disrupt or a \
         PodDisruptionBudget that blocks their eviction. A drain takes up to {grace}{past}. Then Karpenter deletes the \
         remaining pods."
    ))
}

/// How many changes are searched for a time at which nothing limits: at two a day, more than a year.
const CHANGES: usize = 1000;

/// The note, if a reason that can apply is ever without a limit. All schedules must be readable.
pub fn unlimited(subject: &Subject<'_>, at: Timestamp, clock: &Clock) -> Option<String> {
    let mut times: Vec<(Timestamp, Reasons)> = Vec::new();
    for reason in subject.reasons_to_limit() {
        let Some(since) = first_unlimited(subject, reason, at) else {
            continue;
        };
        let reason = Reasons::only(reason);
        match times.iter_mut().find(|(known, _)| *known == since) {
            Some((_, reasons)) => *reasons = reasons.with(reason),
            None => times.push((since, reason)),
        }
    }
    times.sort_unstable_by_key(|(since, _)| *since);
    let when: Vec<String> = times
        .iter()
        .map(|(since, reasons)| {
            let names = reasons.names(", ");
            if *since == at {
                format!("to {names} now")
            } else {
                format!("to {names} from {}", clock.write(*since))
            }
        })
        .collect();
    let when = when.join(", and ");
    let of = times
        .iter()
        .fold(Reasons::NONE, |all, (_, reasons)| all.with(*reasons));
    (!times.is_empty()).then(|| {
        format!(
            "Budgets only restrict: while none is active, all nodes may be disrupted simultaneously. This applies {when}. {}",
            advice(subject, of)
        )
    })
}

/// What would limit these reasons and no others, as far as that is certain.
fn advice(subject: &Subject<'_>, of: Reasons) -> String {
    let gaps = subject.budgets.gaps(of);
    let advice: Vec<String> = gaps.iter().map(|gap| limited(subject, gap)).collect();
    if advice.is_empty() {
        return "`poolgate budgets plan` writes budgets without such gaps.".into();
    }
    advice.join(" ")
}

/// The budgets that limit reasons whenever nothing else does.
fn limited(subject: &Subject<'_>, gap: &Gap) -> String {
    let names = gap.reasons.names(", ");
    match subject.budgets.filling(gap, subject.pool.version) {
        Filling::Always(budget) => format!("To limit this, add {budget}."),
        Filling::Hours { budgets, is_freeze } => {
            let budgets = budgets.join(" and ");
            if is_freeze {
                format!("To block those hours, add {budgets}. Use another number to allow that many nodes.")
            } else {
                format!("To limit those hours, add {budgets}.")
            }
        }
        Filling::Many | Filling::Irregular => format!(
            "For {names}, add budgets for the other hours. `poolgate budgets plan` writes budgets that allow none."
        ),
    }
}

/// When nothing limits a reason for the first time after an instant.
fn first_unlimited(subject: &Subject<'_>, reason: Reason, at: Timestamp) -> Option<Timestamp> {
    let (mut at, mut allowance) = (at, subject.budgets.allowance(reason, subject.nodes, at));
    for _ in 0..CHANGES {
        if allowance == Allowance::Unlimited {
            return Some(at);
        }
        match subject.budgets.next_change(reason, subject.nodes, at) {
            Change::At { at: next, to } => (at, allowance) = (next, to),
            Change::Never | Change::NotBefore(_) => return None,
        }
    }
    None
}
