//! The events that explain to users why nothing happens, or what will. Each is reported once until something
//! changes.

use super::claim::ClaimState;
use super::excess::{Termination, is_termination_wanted, terminates};
use super::holds::Holds;
use super::memory::{Memory, Topic};
use super::outcome::{Event, EventReason};
use super::replacement::Replacements;
use super::situation::Situation;
use crate::api::NodeLimitMode;
use crate::budget::Reason;
use crate::diagnostic::counted;

mod replaced;

/// Why nothing is terminated, and what to do about it.
const NO_RIGHT: &str = "poolgate has no right to terminate NodeClaims; the component `terminate` gives it \
                        (Helm: reconciler.terminate=true)";

/// How many names a message lists.
const MOST_NAMES: usize = 5;

/// The events to write now. Records what is reported.
pub fn tell(
    situation: &Situation<'_>,
    holds: &Holds<'_>,
    termination: &Termination<'_>,
    replacements: &Replacements<'_>,
    memory: &mut Memory,
) -> Vec<Event> {
    let topics = [
        (Topic::BlockedDrifted, blocked(situation, holds, Reason::Drifted)),
        (
            Topic::BlockedUnderutilized,
            blocked(situation, holds, Reason::Underutilized),
        ),
        (Topic::Reached, reached(situation)),
    ];
    // Between choosing victims and deleting them there is nothing new to report, and nothing is over either.
    let is_under_way = situation.excess() > 0 && termination.chosen.is_empty() && !termination.is_settling;
    let above = (!(terminates(situation) && is_under_way))
        .then(|| (Topic::Exceeded, exceeded(situation, termination)));
    let mut events = Vec::new();
    let replaced = replaced::topics(situation, replacements);
    for (topic, news) in topics.into_iter().chain(above).chain(replaced) {
        let what = news.as_ref().map(|news| news.what.clone());
        if memory.is_news(topic, what, situation.clock) {
            events.extend(news.map(|news| news.event));
        }
    }
    events
}

/// Something to report, and what identifies it.
struct News {
    event: Event,
    what: String,
}

impl News {
    fn new(reason: EventReason, message: String, what: String) -> Self {
        let event = Event { reason, message };
        Self { event, what }
    }
}

/// How the event about too many nodes begins, up to a semicolon.
pub fn above_limit(excess: usize, limit: u32) -> String {
    format!("{} above the limit of {limit}", counted(excess, "node"))
}

/// How the event about a limit that is reached names the limit.
pub fn of_limit(limit: u32, mode: NodeLimitMode) -> String {
    format!("of {limit} nodes (mode {})", mode.as_str())
}

fn blocked(situation: &Situation<'_>, holds: &Holds<'_>, reason: Reason) -> Option<News> {
    let has_no_place =
        situation.is_governed() && situation.counts.remaining_replacements(situation.pool) == Some(0);
    let is_wanted =
        holds.keeps(reason) && situation.counts.budget(situation.pool, reason, situation.wall) != Some(0);
    let reason = reason.as_str();
    (has_no_place && is_wanted).then_some(())?;
    let message = format!("No allowed disruptions for disruption reason {reason} due to node hard limit");
    Some(News::new(EventReason::DisruptionBlocked, message, String::new()))
}

fn reached(situation: &Situation<'_>) -> Option<News> {
    let limit = situation.pool.limit.filter(|_| situation.is_acted_upon())?;
    let is_full = situation.counts.remaining(situation.pool) == Some(0);
    let replaces = situation.claims.iter().any(|claim| claim.is_being_disrupted());
    let was_denied = situation.was_denied_recently() && (situation.is_awaited || !replaces);
    let is_missed = situation.is_awaited && !situation.is_growing;
    (is_full && (was_denied || is_missed)).then_some(())?;
    let mode = limit.mode.as_str();
    // Those that were admitted take places, too, before they exist.
    let counts = &situation.counts;
    let taken = counts.claims.counted(limit.mode).saturating_add(counts.unseen);
    let drain = situation
        .pool
        .is_hard()
        .then(|| oldest_drain(situation))
        .flatten();
    let message = format!(
        "Node limit reached: {taken} {}; pods that need another node wait{}",
        of_limit(limit.nodes, limit.mode),
        drain
            .map(|(drain, others)| draining(drain, others))
            .unwrap_or_default(),
    );
    let drain = drain.map_or("", |(drain, _)| &*drain.claim.uid);
    let what = format!("{} {mode} {drain}", limit.nodes);
    Some(News::new(EventReason::NodeLimitReached, message, what))
}

/// Says that a node being deleted still takes up its place.
fn draining(drain: &ClaimState<'_>, others: usize) -> String {
    let node = drain.node.map_or(&*drain.claim.name, |node| &*node.name);
    let since = drain
        .claim
        .deleted
        .map(|since| format!(" since {since:.0}"))
        .unwrap_or_default();
    let more = match others {
        0 => String::new(),
        others => format!(", as do {others} more"),
    };
    format!("; {node}, draining{since}, holds its place until it is gone{more}")
}

/// The claim that has been deleted for longest, and how many others there are.
fn oldest_drain<'p>(situation: &Situation<'p>) -> Option<(&'p ClaimState<'p>, usize)> {
    let drains = || {
        situation
            .claims
            .iter()
            .copied()
            .filter(|claim| claim.claim.deleted.is_some())
    };
    let oldest = drains().min_by_key(|claim| (claim.claim.deleted, claim.age_key()))?;
    Some((oldest, drains().count().saturating_sub(1)))
}

fn exceeded(situation: &Situation<'_>, termination: &Termination<'_>) -> Option<News> {
    let limit = situation.pool.limit.filter(|_| situation.is_acted_upon())?;
    let excess = situation.excess();
    (excess > 0).then_some(())?;
    let above = above_limit(excess, limit.nodes);
    let (then, what) = if !is_termination_wanted(situation) {
        let what = format!("{excess} {}", limit.nodes);
        ("none is terminated (over-limit: report)".to_owned(), what)
    } else if !situation.settings.rights.may_terminate() {
        let what = format!("forbidden {excess} {}", limit.nodes);
        (
            format!("none is terminated, though over-limit is terminate: {NO_RIGHT}"),
            what,
        )
    } else if termination.chosen.is_empty() {
        let settle = situation.settings.settle.as_secs();
        let then = format!("the cheapest are terminated once all has been steady for {settle} s");
        (then, "settling".to_owned())
    } else {
        let names = names(&termination.chosen);
        (format!("terminating {names} (over-limit: terminate)"), names)
    };
    let message = format!("{above}; {then}");
    Some(News::new(EventReason::NodeLimitExceeded, message, what))
}

fn names(claims: &[&ClaimState<'_>]) -> String {
    listed(claims.iter().map(|claim| &*claim.claim.name).collect())
}

/// Some names, of which a message lists only so many.
fn listed(mut names: Vec<&str>) -> String {
    let more = names.len().saturating_sub(MOST_NAMES);
    names.truncate(MOST_NAMES);
    let listed = names.join(", ");
    match more {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}
