//! Answers to frequent questions about budgets, if they apply to the pool.

use std::fmt::Write as _;

use jiff::Timestamp;
use poolgate_core::budget::{Budget, Reason, Reasons, Timing};
use poolgate_core::diagnostic::counted;
use poolgate_core::karpenter::{ApiVersion, Field, KarpenterVersion, NodePool, TargetKarpenter};
use poolgate_core::policy::{FeatureGate, GateState};
use poolgate_core::value::quantity::Quantity;

use crate::terminal;

use super::at_limit;
use super::clock::Clock;
use super::subject::{Subject, hours, unquoted};
use super::windows;

/// The notes on a pool, each a paragraph after an empty line.
pub fn paragraphs(subject: &Subject<'_>, at: Timestamp, clock: &Clock) -> String {
    let notes = [
        broken(subject),
        frozen(subject),
        repair(subject),
        broken(subject)
            .is_none()
            .then(|| windows::unlimited(subject, at, clock))
            .flatten(),
        never_open(subject),
        windows::joined(subject),
        windows::rounded(subject),
        windows::bounded_drain(subject),
        room_for_drift(subject),
        at_limit::note(subject),
        expiry(subject),
        concurrency(subject),
        zone(clock),
    ];
    let options = textwrap::Options::new(terminal::line_width())
        .initial_indent("note: ")
        .subsequent_indent("      ");
    let mut text = String::new();
    for note in subject.stored.iter().cloned().chain(notes.into_iter().flatten()) {
        let _ = write!(text, "\n{}\n", textwrap::fill(&note, &options));
    }
    text
}

fn broken(subject: &Subject<'_>) -> Option<String> {
    let mut budgets = subject.budgets.iter();
    let (index, error) = budgets.find_map(|budget| {
        let schedule = budget.schedule.as_ref().present()?;
        Some((budget.index, schedule.value.as_ref().err()?))
    })?;
    let suggestion = error.suggestion().map(|suggestion| format!("; {suggestion}"));
    let suggestion = suggestion.unwrap_or_default();
    Some(format!(
        "Karpenter cannot read the schedule of budgets[{index}]: {error}{suggestion}. One such schedule stops all voluntary \
         disruption of the pool, for every reason, even those that the budget does not name."
    ))
}

fn frozen(subject: &Subject<'_>) -> Option<String> {
    let mut budgets = subject.budgets.iter();
    let closed = budgets.find(|budget| budget.is_always_active() && budget.is_zero())?;
    let opens =
        |budget: &&Budget| !budget.is_zero() && budget.reasons().and(closed.reasons()) != Reasons::NONE;
    let moot = subject.budgets.iter().find(opens)?;
    let reasons = if names_no_reasons(subject, closed) {
        String::new()
    } else {
        format!(" for {}", closed.reasons().names(", "))
    };
    Some(format!(
        "budgets[{}] allows no disruption{reasons} and is always active. No other budget can open what it closes, not \
         even budgets[{}]: of all that are active the lowest counts. To allow disruption in some hours, give it a \
         schedule and a duration that cover the others: `poolgate budgets plan` does.",
        closed.index, moot.index
    ))
}

/// Whether a budget applies to all reasons because it lists none.
fn names_no_reasons(subject: &Subject<'_>, budget: &Budget) -> bool {
    subject.budgets.are_written() && budget.reasons.is_absent()
}

/// Budgets of 0 that also stop the repair of broken nodes, which may not be intended.
fn repair(subject: &Subject<'_>) -> Option<String> {
    if !subject.release.has(KarpenterVersion::UNHEALTHY) {
        return None;
    }
    let budgets = subject.budgets.iter();
    let mut stopping = budgets.filter(|budget| budget.is_zero() && names_no_reasons(subject, budget));
    let always = stopping.clone().find(|budget| budget.is_always_active());
    let (budget, when) = match (always, stopping.find(|budget| budget.windows().is_some())) {
        (Some(budget), _) => (budget, "never repaired"),
        (None, Some(budget)) => (budget, "not repaired while it is active"),
        (None, None) => return None,
    };
    let broken = match subject.gate(FeatureGate::NodeRepair) {
        GateState::Off | GateState::Fixed => return None,
        GateState::On => "broken nodes",
        GateState::Unknown => "where Karpenter repairs broken nodes (feature gate NodeRepair), those",
    };
    Some(format!(
        "{} names no reasons, so it also applies to Unhealthy: {broken} of this pool are {when}. With reasons: {} \
         they are.",
        subject.called(budget.index),
        Reasons::ALL_BUT_REPAIR.written()
    ))
}

fn never_open(subject: &Subject<'_>) -> Option<String> {
    let never = |budget: &&Budget| matches!(budget.timing, Timing::Never);
    let budget = subject.budgets.iter().find(never)?;
    Some(format!(
        "budgets[{}] is never active: its window has no length, or opens by an interval that starts again each time \
         Karpenter checks.",
        budget.index
    ))
}

/// What the limit of a static pool is for: Karpenter replaces a drifted node only with one node more.
fn room_for_drift(subject: &Subject<'_>) -> Option<String> {
    let replicas = subject.pool.replicas.present()?;
    let limit = subject.pool.node_limit()?;
    if limit > Quantity::from(replicas) {
        return Some(format!(
            "Karpenter keeps {}. limits.nodes above that is room for replacements: the pool never grows to it by itself.",
            counted(usize::try_from(replicas).unwrap_or(usize::MAX), "node")
        ));
    }
    let has_gate = subject.release.has(KarpenterVersion::TERMINATE_FIRST_DRIFT);
    let or_else = match subject.gate(FeatureGate::TerminateFirstDrift) {
        GateState::On if has_gate => return None,
        GateState::Unknown | GateState::Off if has_gate => {
            ", or switch on the feature gate TerminateFirstDrift"
        }
        GateState::Unknown | GateState::Off => {
            ", or from 1.15 on switch on the feature gate TerminateFirstDrift"
        }
        GateState::On | GateState::Fixed => "",
    };
    Some(format!(
        "limits.nodes leaves no room above replicas, and Karpenter launches the replacement of a drifted node before it \
         removes the node: drifted nodes stay, whatever budgets say. Raise limits.nodes{or_else}."
    ))
}

/// What a budget of 0 does to nodes that expire.
fn expiry(subject: &Subject<'_>) -> Option<String> {
    if !subject.budgets.iter().any(Budget::is_zero) {
        return None;
    }
    let (age, whose) = match subject.pool.expire_after {
        Field::Absent => default_expiry(subject),
        Field::Present("Never") | Field::Mistyped => return None,
        Field::Present(age) => (unquoted(age), String::new()),
    };
    if !expires_anyway(subject.release) {
        return Some(format!(
            "Before Karpenter 1.0 budgets limit expiration, too: while one of 0 is active, no node expires. \
             That changes with 1.0, which removes nodes at the age of {age}{whose}, even during a freeze; \
             expireAfter: Never prevents it."
        ));
    }
    // Where nodes have a longest life, there is no Never.
    let longest = subject
        .provider()
        .and_then(|provider| provider.settings.longest_life);
    let never = if longest.is_some() {
        ""
    } else {
        " expireAfter: Never ends that."
    };
    let before = match subject.pool.version {
        ApiVersion::V1 => "",
        ApiVersion::V1Beta1 => " (before 1.0 it does)",
    };
    Some(format!(
        "A budget of 0 does not stop expiration{before}: nodes of this pool are removed at the age of {age}{whose}, \
         even during a freeze.{never}"
    ))
}

/// `expireAfter` of a pool that leaves it out, and whose default it is.
fn default_expiry(subject: &Subject<'_>) -> (String, String) {
    let own = subject
        .provider()
        .and_then(|provider| Some((provider.name, provider.settings.expire_after?)));
    if let Some((name, age)) = own {
        return (format!("{}h", hours(age)), format!(", {name}'s default"));
    }
    let version = subject.pool.version;
    let path = NodePool::expire_after_path(version).to_string();
    let age = TargetKarpenter::from(subject.release).default_of(&path, version);
    let age = age.unwrap_or_default().trim_matches('"');
    (age.to_owned(), ", Karpenter's default".to_owned())
}

/// Whether a release removes expired nodes whatever budgets allow.
fn expires_anyway(release: KarpenterVersion) -> bool {
    release.has(KarpenterVersion::V1_STORED)
}

fn concurrency(subject: &Subject<'_>) -> Option<String> {
    let any_limit = subject.budgets.iter().any(|budget| !budget.is_zero());
    let happens = !subject.active_reasons().is_empty();
    (any_limit && happens && broken(subject).is_none()).then(|| {
        let expiry = match expiry(subject) {
            Some(_) => "Budgets do not limit spot interruption.",
            None if expires_anyway(subject.release) => "Budgets limit neither expiration nor spot interruption.",
            None => {
                "Nodes that expire count, too; from Karpenter 1.0 on budgets do not limit expiration. They never limit spot \
                 interruption."
            }
        };
        let drifts = subject.active_reasons().contains(&Reason::Drifted);
        let prices = if drifts {
            " Drift does not compare prices: the new node may cost more."
        } else {
            ""
        };
        format!(
            "A number is how many nodes may be on their way out at the same time, not a total: when one is gone, the \
             next may be disrupted, and a budget cannot say one node an hour. Nodes that are not ready or already being deleted \
             count against it. {expiry}{prices}"
        )
    })
}

fn zone(clock: &Clock) -> Option<String> {
    let zone = clock.zone()?;
    Some(format!(
        "Schedules are in UTC, and Karpenter supports no other zone. Days and hours of {zone} are shown for reading only; \
         where clocks there change in summer, windows move by an hour. `poolgate budgets plan` writes budgets for both \
         halves of the year."
    ))
}
