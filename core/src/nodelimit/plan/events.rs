//! The events that explain to users why nothing happens, or what will. Each is reported once until something
//! changes.

use super::claim::ClaimState;
use super::excess::{Termination, is_termination_wanted, terminates};
use super::holds::Holds;
use super::memory::{Memory, Topic};
use super::outcome::{Event, EventReason};
use super::replacement::Replacements;
use super::situation::Situation;
use crate::budget::Reason;

mod replaced;

/// Why nothing is terminated, and what to do about it.
const NO_RIGHT: &str = "poolgate has no right to terminate NodeClaims; the component `terminate` gives it \
                        (Helm: reconciler.terminate=true)";

/// How many names a message lists.
const MOST_NAMES: usize = 5;

/// The events to write now. Records what is reported.
pub fn tell(
    now: &Situation<'_>,
    holds: &Holds<'_>,
    termination: &Termination<'_>,
    replacements: &Replacements<'_>,
    memory: &mut Memory,
) -> Vec<Event> {
    let topics = [
        (Topic::BlockedDrifted, blocked(now, holds, Reason::Drifted)),
        (
            Topic::BlockedUnderutilized,
            blocked(now, holds, Reason::Underutilized),
        ),
        (Topic::Reached, reached(now)),
    ];
    // Between choosing victims and deleting them there is nothing new to report, and nothing is over either.
    let is_under_way = now.excess() > 0 && termination.chosen.is_empty() && !termination.is_settling;
    let above = (!(terminates(now) && is_under_way)).then(|| (Topic::Exceeded, exceeded(now, termination)));
    let mut events = Vec::new();
    let replaced = replaced::topics(now, replacements);
    for (topic, news) in topics.into_iter().chain(above).chain(replaced) {
        let what = news.as_ref().map(|news| news.what.clone());
        if memory.is_news(topic, what, now.clock) {
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
    fn of(reason: EventReason, message: String, what: String) -> Self {
        let event = Event { reason, message };
        Self { event, what }
    }
}

fn blocked(now: &Situation<'_>, holds: &Holds<'_>, reason: Reason) -> Option<News> {
    let has_no_place = now.is_governed() && now.counts.remaining_replacements(now.pool) == Some(0);
    let is_wanted = holds.keeps(reason) && now.counts.budget(now.pool, reason, now.wall) != Some(0);
    let reason = reason.as_str();
    (has_no_place && is_wanted).then_some(())?;
    let message = format!("No allowed disruptions for disruption reason {reason} due to node hard limit");
    Some(News::of(EventReason::DisruptionBlocked, message, String::new()))
}

fn reached(now: &Situation<'_>) -> Option<News> {
    let limit = now.pool.limit.filter(|_| now.is_acted_upon())?;
    let is_full = now.counts.remaining(now.pool) == Some(0);
    let replaces = now.claims.iter().any(|claim| claim.is_being_disrupted());
    let was_denied = now.was_denied_recently() && (now.is_awaited || !replaces);
    let is_missed = now.is_awaited && !now.is_growing;
    (is_full && (was_denied || is_missed)).then_some(())?;
    let mode = limit.mode.as_str();
    let drain = now.pool.is_hard().then(|| oldest_drain(now)).flatten();
    let message = format!(
        "Node limit reached: {} of {} nodes (mode {mode}); pods that need another node wait{}",
        now.counts.claims.counted(limit.mode),
        limit.nodes,
        drain
            .map(|(drain, others)| draining(drain, others))
            .unwrap_or_default(),
    );
    let drain = drain.map_or("", |(drain, _)| &*drain.claim.uid);
    let what = format!("{} {mode} {drain}", limit.nodes);
    Some(News::of(EventReason::NodeLimitReached, message, what))
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
fn oldest_drain<'p>(now: &Situation<'p>) -> Option<(&'p ClaimState<'p>, usize)> {
    let drains = || {
        now.claims
            .iter()
            .copied()
            .filter(|claim| claim.claim.deleted.is_some())
    };
    let oldest = drains().min_by_key(|claim| (claim.claim.deleted, claim.age_key()))?;
    Some((oldest, drains().count().saturating_sub(1)))
}

fn exceeded(now: &Situation<'_>, termination: &Termination<'_>) -> Option<News> {
    let limit = now.pool.limit.filter(|_| now.is_acted_upon())?;
    let excess = now.excess();
    (excess > 0).then_some(())?;
    let nodes = if excess == 1 { "node" } else { "nodes" };
    let above = format!("{excess} {nodes} above the limit of {}", limit.nodes);
    let (then, what) = if !is_termination_wanted(now) {
        let what = format!("{excess} {}", limit.nodes);
        ("none is terminated (over-limit: report)".to_owned(), what)
    } else if !now.settings.rights.may_terminate() {
        let what = format!("forbidden {excess} {}", limit.nodes);
        (
            format!("none is terminated, though over-limit is terminate: {NO_RIGHT}"),
            what,
        )
    } else if termination.chosen.is_empty() {
        let settle = now.settings.settle.as_secs();
        let then = format!("the cheapest are terminated once all has been steady for {settle} s");
        (then, "settling".to_owned())
    } else {
        let names = names(&termination.chosen);
        (format!("terminating {names} (over-limit: terminate)"), names)
    };
    let message = format!("{above}; {then}");
    Some(News::of(EventReason::NodeLimitExceeded, message, what))
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
