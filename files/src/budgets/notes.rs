//! Answers to frequent questions about budgets, if they apply to the pool.

use std::fmt::Write as _;

use crate::clock::Clock;
use crate::terminal;
use jiff::Timestamp;
use poolgate_core::api::LimitSchedule;
use poolgate_core::budget::{Budget, Reasons, Timing};
use poolgate_core::diagnostic::{counted, first_few, sentences};
use poolgate_core::facts::{ApiVersion, KarpenterVersion};
use poolgate_core::policy::{FeatureGate, GateState};
use poolgate_core::pool::{Field, NodePool};
use poolgate_core::value::quantity::Quantity;

use super::at_limit;
use super::subject::{Subject, unquoted};
use super::windows;

/// How many pools a note names.
const MOST_NAMED: usize = 5;

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
        scheduled(subject, at, clock),
    ];
    let mut text = String::new();
    for note in written(subject.stored.iter().cloned().chain(notes.into_iter().flatten())) {
        let _ = write!(text, "\n{note}\n");
    }
    text
}

/// The notes that are the same for many pools, once for all of them.
pub fn of_run(subjects: &[Subject<'_>], clock: &Clock) -> String {
    let notes = expiries(subjects)
        .into_iter()
        .chain(zone(clock).filter(|_| !subjects.is_empty()));
    let mut text = String::new();
    for note in written(notes) {
        let _ = write!(text, "{note}\n\n");
    }
    text
}

/// Each note, wrapped for a terminal.
fn written(notes: impl Iterator<Item = String>) -> Vec<String> {
    let width = terminal::line_width();
    notes
        .map(|note| terminal::wrapped(&note, "note: ", "      ", width))
        .collect()
}

fn broken(subject: &Subject<'_>) -> Option<String> {
    let mut budgets = subject.budgets.iter();
    let (index, error) = budgets.find_map(|budget| {
        let schedule = budget.schedule.as_ref().present()?;
        Some((budget.index, schedule.value.as_ref().err()?))
    })?;
    let suggestion = error.suggestion().map(|suggestion| suggestion.to_string());
    let consequence = "one such schedule stops all voluntary disruption of the pool, also for reasons that the budget does not name";
    Some(sentences(
        format!("Karpenter cannot parse the schedule of budgets[{index}]: {error}"),
        [suggestion.as_deref(), Some(consequence)],
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
        "budgets[{0}] allows no disruption{reasons} and is always active. The lowest active budget counts, so no other \
         budget allows it, not even budgets[{1}]. To allow disruption in some hours, give budgets[{0}] a schedule and a \
         duration that cover the other hours. `poolgate budgets plan` writes such budgets.",
        closed.index, moot.index
    ))
}

/// True if a budget applies to all reasons because it lists none.
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
        GateState::Unknown => "if Karpenter repairs broken nodes (feature gate NodeRepair), those",
    };
    Some(format!(
        "{} names no reasons, so it also applies to Unhealthy: {broken} of this pool are {when}. Add reasons: {} to keep \
         repair working.",
        subject.called(budget.index),
        Reasons::ALL_BUT_REPAIR.written()
    ))
}

fn never_open(subject: &Subject<'_>) -> Option<String> {
    let never = |budget: &&Budget| matches!(budget.timing, Timing::Never);
    let budget = subject.budgets.iter().find(never)?;
    Some(format!(
        "budgets[{}] is never active. Its window has no length, or its @every interval restarts each time Karpenter checks.",
        budget.index
    ))
}

/// What the schedule of the node limit does.
fn scheduled(subject: &Subject<'_>, at: Timestamp, clock: &Clock) -> Option<String> {
    let schedule = LimitSchedule::of(&subject.pool)?.ok()?;
    let now = schedule.scheduled(at);
    let Some((then, nodes)) = schedule.next_change(at) else {
        return Some(format!("The schedule of the node limit always says {now}."));
    };
    let change = format!(
        "By its schedule the node limit is {now}, and {nodes} from {} on",
        clock.write(then)
    );
    let fall = schedule.next_fall(at).filter(|fall| *fall != (then, nodes));
    let fall = fall.map(|(then, nodes)| format!(". It next falls to {nodes} at {}", clock.write(then)));
    Some(format!("{change}{}.", fall.unwrap_or_default()))
}

/// The use of a static pool's limit: Karpenter replaces a drifted node only with one node more.
fn room_for_drift(subject: &Subject<'_>) -> Option<String> {
    let replicas = subject.pool.replicas.present()?;
    let limit = subject.pool.node_limit()?;
    if limit > Quantity::from(replicas) {
        return Some(format!(
            "Karpenter keeps {}. A higher limits.nodes is room for replacements. The pool never grows to it on its own.",
            counted(usize::try_from(replicas).unwrap_or(usize::MAX), "node")
        ));
    }
    let has_gate = subject.release.has(KarpenterVersion::TERMINATE_FIRST_DRIFT);
    let or_else = match subject.gate(FeatureGate::TerminateFirstDrift) {
        GateState::On if has_gate => return None,
        GateState::Unknown | GateState::Off if has_gate => ", or enable the feature gate TerminateFirstDrift",
        GateState::Unknown | GateState::Off => {
            ", or enable the feature gate TerminateFirstDrift (Karpenter 1.15)"
        }
        GateState::On | GateState::Fixed => "",
    };
    Some(format!(
        "limits.nodes leaves no room above replicas, and Karpenter launches a replacement before it removes a drifted node. \
         Drifted nodes therefore stay, whatever the budgets allow. Raise limits.nodes{or_else}."
    ))
}

/// The expiration of nodes that a budget of 0 does not stop.
#[derive(Debug, PartialEq, Eq)]
struct Expiry {
    age: String,
    is_limited: bool,
    is_v1beta1: bool,
    /// True if `Never` is allowed.
    has_never: bool,
}

impl Expiry {
    /// The expiration of the pool's nodes, if one of its budgets is 0.
    fn of(subject: &Subject<'_>) -> Option<Self> {
        if !subject.budgets.iter().any(Budget::is_zero) {
            return None;
        }
        let path = NodePool::expire_after_path(subject.pool.version);
        let age = match subject.pool.expire_after {
            Field::Present("Never") | Field::Mistyped | Field::Beyond => return None,
            Field::Present(age) if subject.pool.is_written(&path) => unquoted(age),
            Field::Present(_) | Field::Absent => subject.default_expiry.clone()?,
        };
        let provider = subject.pool.template.provider();
        Some(Self {
            age,
            is_limited: !expires_anyway(subject.release),
            is_v1beta1: subject.pool.version == ApiVersion::V1Beta1,
            has_never: provider.is_none_or(|provider| provider.settings.longest_life.is_none()),
        })
    }

    /// The note on pools with the same expiration.
    fn note(&self, pools: &str) -> String {
        let age = &self.age;
        if self.is_limited {
            return format!(
                "Before Karpenter 1.0 budgets also limit expiration: no node of {pools} expires while a budget of 0 is \
                 active. From 1.0 on Karpenter removes these nodes at the age of {age}, even during a freeze. To prevent \
                 it, set expireAfter: Never."
            );
        }
        let before = if self.is_v1beta1 {
            " (before Karpenter 1.0 it does)"
        } else {
            ""
        };
        let never = if self.has_never {
            " To prevent it, set expireAfter: Never."
        } else {
            ""
        };
        format!(
            "A budget of 0 does not stop expiration{before}. Karpenter removes nodes of {pools} at the age of {age}, even \
             during a freeze.{never}"
        )
    }
}

/// A note for each different expiration.
fn expiries(subjects: &[Subject<'_>]) -> Vec<String> {
    let mut all: Vec<(Expiry, Vec<&str>)> = Vec::new();
    for subject in subjects {
        let Some(expiry) = Expiry::of(subject) else {
            continue;
        };
        match all.iter_mut().find(|(known, _)| *known == expiry) {
            Some((_, pools)) => pools.push(subject.name.as_str()),
            None => all.push((expiry, vec![subject.name.as_str()])),
        }
    }
    all.iter()
        .map(|(expiry, pools)| expiry.note(&named(pools)))
        .collect()
}

/// Pools by their names, as far as these are not too many.
fn named(pools: &[&str]) -> String {
    let several = if pools.len() == 1 { "" } else { "s" };
    format!("NodePool{several} {}", first_few(pools, MOST_NAMED))
}

/// True if a release removes expired nodes whatever budgets allow.
fn expires_anyway(release: KarpenterVersion) -> bool {
    release.has(KarpenterVersion::V1_STORED)
}

fn zone(clock: &Clock) -> Option<String> {
    let zone = clock.zone()?;
    Some(format!(
        "Schedules are in UTC, and Karpenter supports no other zone. Days and hours in {zone} are for display only. If its \
         clocks change in summer, windows move by an hour. `poolgate budgets plan` writes budgets for both halves of the \
         year."
    ))
}
