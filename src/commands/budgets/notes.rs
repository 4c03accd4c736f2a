//! What users of budgets keep asking, said where the pool at hand shows it.

use std::fmt::Write as _;

use poolgate_core::budget::{Budgets, Entry, Reason, Timing};

use super::clock::Clock;
use super::subject::Subject;

/// Longest line, in columns.
const LINE: usize = 100;

/// The notes on a pool, each a paragraph behind an empty line.
pub(super) fn paragraphs(subject: &Subject<'_>, clock: &Clock) -> String {
    let notes = [
        broken(subject),
        frozen(subject),
        unlimited_outside(subject),
        never_open(subject),
        concurrency(subject),
        zone(clock),
    ];
    let options = textwrap::Options::new(LINE)
        .initial_indent("note: ")
        .subsequent_indent("      ");
    let mut text = String::new();
    for note in notes.into_iter().flatten() {
        let _ = write!(text, "\n{}\n", textwrap::fill(&note, &options));
    }
    text
}

fn broken(subject: &Subject<'_>) -> Option<String> {
    let (index, error) = subject
        .budgets
        .entries()
        .iter()
        .find_map(|entry| match &entry.timing {
            Timing::Broken(error) => Some((entry.index, error)),
            _ => None,
        })?;
    let suggestion = error
        .suggestion()
        .map(|suggestion| format!("; {suggestion}"))
        .unwrap_or_default();
    Some(format!(
        "Karpenter cannot read the schedule of budgets[{index}]: {error}{suggestion}. One such schedule stops all voluntary \
         disruption of the pool, for every reason, also those that the budget does not name."
    ))
}

fn frozen(subject: &Subject<'_>) -> Option<String> {
    let entries = subject.budgets.entries();
    let closed = entries
        .iter()
        .find(|entry| holds_always(entry) && entry.nodes.is_zero())?;
    let opens = |entry: &Entry| {
        !entry.nodes.is_zero() && entry.reasons.iter().any(|reason| closed.reasons.has(reason))
    };
    let moot = entries.iter().find(|entry| opens(entry))?;
    Some(format!(
        "budgets[{}] lets no node go and holds always. No other budget can open what it closes, budgets[{}] neither: \
         of all that are active the lowest counts. To let nodes go in some hours, give it a schedule and a duration \
         that cover the others.",
        closed.index, moot.index
    ))
}

fn unlimited_outside(subject: &Subject<'_>) -> Option<String> {
    if is_broken(&subject.budgets) {
        return None;
    }
    let entries = subject.budgets.entries();
    let unlimited = |reason: &Reason| {
        !entries
            .iter()
            .any(|entry| entry.reasons.has(*reason) && holds_always(entry))
    };
    let reasons: Vec<_> = subject
        .reasons
        .iter()
        .copied()
        .filter(unlimited)
        .map(Reason::as_str)
        .collect();
    if reasons.is_empty() {
        return None;
    }
    Some(format!(
        "Budgets only restrict: where none is active, nothing limits and every node may go at once. No budget holds \
         always for {}. A budget without a schedule, such as nodes: 10%, limits the other hours; to let nodes go in a \
         window only, write a budget of 0 that covers all hours outside of it.",
        reasons.join(", ")
    ))
}

fn never_open(subject: &Subject<'_>) -> Option<String> {
    let never = |entry: &&Entry| matches!(entry.timing, Timing::Never);
    let entry = subject.budgets.entries().iter().find(never)?;
    Some(format!(
        "budgets[{}] never holds: its window has no length, or opens by an interval that begins anew whenever \
         Karpenter looks.",
        entry.index
    ))
}

fn concurrency(subject: &Subject<'_>) -> Option<String> {
    let any_limit = subject
        .budgets
        .entries()
        .iter()
        .any(|entry| !entry.nodes.is_zero());
    (any_limit && !is_broken(&subject.budgets)).then(|| {
        "A number is how many nodes may be on their way out at the same time, not a total: when one is gone, the next \
         may go. Nodes that are not ready or already being deleted count against it. Expiration is not limited by \
         budgets."
            .into()
    })
}

fn zone(clock: &Clock) -> Option<String> {
    let zone = clock.zone()?;
    Some(format!(
        "Schedules are in UTC, and Karpenter knows no other zone. The time in {zone} is shown for reading only; where \
         clocks there change in summer, windows move by an hour."
    ))
}

fn holds_always(entry: &Entry) -> bool {
    matches!(entry.timing, Timing::Always)
}

fn is_broken(budgets: &Budgets) -> bool {
    let broken = |entry: &Entry| matches!(entry.timing, Timing::Broken(_));
    budgets.entries().iter().any(broken)
}
