//! The note on times at which no budget limits disruption: for which reasons, since when, and what would limit them.

use jiff::Timestamp;
use poolgate_core::budget::{Allowance, Change, Filling, Gap, Reason, Reasons};

use super::clock::Clock;
use super::subject::Subject;

/// How many changes are searched for a time at which nothing limits: at two a day, more than a year.
const CHANGES: usize = 1000;

/// The note, if a reason that can apply is ever without a limit. All schedules must be readable.
pub fn note(subject: &Subject<'_>, at: Timestamp, clock: &Clock) -> Option<String> {
    let mut times: Vec<(Timestamp, Reasons)> = Vec::new();
    for reason in subject.active_reasons() {
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
                format!("for {names} that is so now")
            } else {
                format!("for {names} that is so from {} on", clock.write(*since))
            }
        })
        .collect();
    let when = when.join("; ").replacen('f', "F", 1);
    let of = times
        .iter()
        .fold(Reasons::NONE, |all, (_, reasons)| all.with(*reasons));
    (!times.is_empty()).then(|| {
        format!(
            "Budgets only restrict: where none is active, nothing is limited and all nodes may be disrupted at once. \
             {when}. {}",
            advice(subject, of)
        )
    })
}

/// What would limit these reasons and no others, as far as that is certain.
fn advice(subject: &Subject<'_>, of: Reasons) -> String {
    let gaps = subject.budgets.gaps(of);
    let advice: Vec<String> = gaps.iter().map(|gap| limited(subject, gap)).collect();
    if advice.is_empty() {
        return "`poolgate budgets plan` writes budgets that leave no such hours.".into();
    }
    advice.join(" ")
}

/// The budgets that limit reasons whenever nothing else does.
fn limited(subject: &Subject<'_>, gap: &Gap) -> String {
    let names = gap.reasons.names(", ");
    match subject.budgets.filling(gap, subject.pool.version) {
        Filling::Always(budget) => format!("{budget} limits that."),
        Filling::Hours { budgets, is_freeze } => {
            let budgets = budgets.join(" and ");
            if is_freeze {
                format!("To allow none in those hours, add {budgets}; with another number, that many.")
            } else {
                format!("In those hours {budgets} limits that.")
            }
        }
        Filling::Many | Filling::Irregular => format!(
            "For {names}, add budgets for the other hours: `poolgate budgets plan` writes those that allow none."
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
