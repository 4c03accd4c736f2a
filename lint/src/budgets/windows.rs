//! Notes on the lengths of windows: those that join, and drains that outlast the hours in which they began.

use poolgate_core::budget::{Budget, Timing, WrittenWindow};
use poolgate_core::diagnostic::counted;
use poolgate_core::karpenter::Field;
use poolgate_core::value::nodes::BudgetNodes;

use super::subject::{Subject, hours, nodes_text, unquoted};

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
            " For windows of {duration} write {}; the same as now is {}.",
            spelt_out(Some(duration)),
            spelt_out(None)
        )
    };
    Some(format!(
        "{} begins again before its window of {duration} has ended, so its windows join: {} it is active.{instead}",
        subject.called(budget.index),
        week.described()
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
        "A percentage is rounded up: {} of {} is the whole pool.",
        budget.nodes().map(nodes_text).unwrap_or_default(),
        counted(nodes as usize, "node")
    ))
}

/// What drift does to pods that must not be evicted, if the drain of a node has an end.
pub fn bounded_drain(subject: &Subject<'_>) -> Option<String> {
    let grace = match subject.pool.template.termination_grace_period {
        Field::Present(grace) => unquoted(grace),
        Field::Mistyped => return None,
        Field::Absent => {
            let provider = subject.provider()?;
            let grace = provider.settings.termination_grace_period?;
            return Some(format!(
                "{} ends the drain of a node after {}h if terminationGracePeriod is left out, and then deletes its pods.",
                provider.name,
                hours(grace)
            ));
        }
    };
    let past = if subject.budgets.iter().any(|budget| budget.windows().is_some()) {
        ", and it goes on when the hours end in which it began"
    } else {
        ""
    };
    Some(format!(
        "With terminationGracePeriod Karpenter also replaces drifted nodes whose pods have karpenter.sh/do-not-disrupt or a \
         PodDisruptionBudget that blocks their eviction. The drain of a node takes up to {grace}{past}; then its pods are \
         deleted."
    ))
}
