//! The events that explain to users why nothing happens, or what will. Each is reported once until something
//! changes.

use super::excess::{ExcessDecision, is_termination_wanted, terminates};
use super::holds::Holds;
use super::replacement::{Ended, Obstacle, ReplacementOutcome, Replacements};
use super::situation::{Memory, Situation, Topic};
use super::state::ClaimState;
use crate::api::NodeLimitMode;
use crate::budget::Reason;
use crate::diagnostic::{counted, first_few};
use crate::nodelimit::ledger::{ReplacedFor, Replacement, Uid};

/// Why no node is terminated, and what to do about it.
const NO_RIGHT: &str = "poolgate has no right to terminate NodeClaims. The component `terminate` grants it \
                        (Helm: reconciler.terminate=true)";

/// How many names a message lists.
const MOST_NAMES: usize = 5;

/// An event on the NodePool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The `reason` of the event, by which users filter.
    pub reason: EventReason,
    /// The `message` of the event: a sentence for people.
    pub message: String,
}

/// Why an event is written. Every event is of type `Normal`, except for faults: see [`EventReason::is_warning`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventReason {
    /// Karpenter may disrupt no node, because there is no room for its replacement.
    DisruptionBlocked,
    /// The pool has as many nodes as it may, and pods wait for more.
    NodeLimitReached,
    /// The pool has more nodes than it may.
    NodeLimitExceeded,
    /// A schedule changes the limit.
    NodeLimitScheduled,
    /// A node is terminated first, because the pool is full, and then replaced.
    ReplacementStarted,
    /// Nodes that must be replaced are not, and why.
    ReplacementBlocked,
    /// A node need not be replaced after all.
    ReplacementDropped,
    /// A node that was terminated was not replaced.
    ReplacementStopped,
}

impl EventReason {
    /// The reason as it is in the event.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DisruptionBlocked => "DisruptionBlocked",
            Self::NodeLimitReached => "NodeLimitReached",
            Self::NodeLimitExceeded => "NodeLimitExceeded",
            Self::NodeLimitScheduled => "NodeLimitScheduled",
            Self::ReplacementStarted => "ReplacementStarted",
            Self::ReplacementBlocked => "ReplacementBlocked",
            Self::ReplacementDropped => "ReplacementDropped",
            Self::ReplacementStopped => "ReplacementStopped",
        }
    }

    /// True if the event is of type `Warning`.
    pub const fn is_warning(self) -> bool {
        matches!(self, Self::NodeLimitExceeded | Self::ReplacementStopped)
    }
}

/// The events to write now. Records what is reported.
pub fn decide(
    situation: &Situation<'_>,
    holds: &Holds<'_>,
    termination: &ExcessDecision<'_>,
    replacements: &Replacements<'_>,
    memory: &mut Memory,
) -> Vec<Event> {
    let topics = [
        (
            Topic::BlockedDrifted,
            disruption_blocked(situation, holds, Reason::Drifted),
        ),
        (
            Topic::BlockedUnderutilized,
            disruption_blocked(situation, holds, Reason::Underutilized),
        ),
        (Topic::Reached, reached(situation)),
        (Topic::Scheduled, scheduled(situation, memory)),
    ];
    // Between choosing victims and deleting them nothing is new, and nothing is over.
    let is_under_way = situation.excess() > 0 && termination.chosen.is_empty() && !termination.is_settling;
    let above = (!(terminates(situation) && is_under_way))
        .then(|| (Topic::Exceeded, exceeded(situation, termination)));
    let mut events = Vec::new();
    let replaced = replacement_topics(situation, replacements, memory.refusal());
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

fn disruption_blocked(situation: &Situation<'_>, holds: &Holds<'_>, reason: Reason) -> Option<News> {
    let has_no_room =
        situation.is_governed() && situation.counts.remaining_replacements(situation.pool) == Some(0);
    let is_wanted =
        holds.keeps(reason) && situation.counts.budget(situation.pool, reason, situation.wall) != Some(0);
    let reason = reason.as_str();
    (has_no_room && is_wanted).then_some(())?;
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
    // Those that were admitted count, too, before they exist.
    let counts = &situation.counts;
    let taken = counts.claims.counted(limit.mode).saturating_add(counts.unseen);
    let drain = situation
        .pool
        .is_hard()
        .then(|| oldest_drain(situation))
        .flatten();
    let message = format!(
        "Node limit reached: {taken} {}. Pods that need another node wait{}",
        of_limit(limit.nodes, limit.mode),
        drain
            .map(|(drain, others)| draining(drain, others))
            .unwrap_or_default(),
    );
    let drain = drain.map_or("", |(drain, _)| &*drain.uid);
    let what = format!("{} {mode} {drain}", limit.nodes);
    Some(News::new(EventReason::NodeLimitReached, message, what))
}

/// A limit that a schedule sets, or that somebody has changed meanwhile.
fn scheduled(situation: &Situation<'_>, memory: &mut Memory) -> Option<News> {
    let limit = situation.scheduled_limit()?;
    let stored = situation.pool.stored_limit;
    let known = memory.scheduled.filter(|(known, _)| *known == limit);
    // Until the watch shows what was written, it shows what was there before.
    let is_overwritten = known.is_some_and(|(_, before)| before != stored);
    if stored == Some(limit) || !is_overwritten {
        memory.scheduled = Some((limit, stored));
    }
    if stored == Some(limit) {
        return None;
    }
    let message = match stored.filter(|_| is_overwritten) {
        Some(other) => format!(
            "Somebody set the node limit to {other}. The schedule says {limit}, which is written again"
        ),
        None => format!("The schedule sets the node limit to {limit}"),
    };
    let what = message.clone();
    Some(News::new(EventReason::NodeLimitScheduled, message, what))
}

/// Says that a node being deleted still counts.
fn draining(drain: &ClaimState<'_>, others: usize) -> String {
    let node = drain.node.map_or(&*drain.name, |node| &*node.name);
    let since = drain
        .deleted
        .map(|since| format!(" since {since:.0}"))
        .unwrap_or_default();
    let more = match others {
        0 => String::new(),
        others => format!(", as do {others} more"),
    };
    format!(". {node}, draining{since}, counts until it is gone{more}")
}

/// The claim that has been deleted for longest, and how many others there are.
fn oldest_drain<'p>(situation: &Situation<'p>) -> Option<(&'p ClaimState<'p>, usize)> {
    let drains = || {
        situation
            .claims
            .iter()
            .copied()
            .filter(|claim| claim.deleted.is_some())
    };
    let oldest = drains().min_by_key(|claim| (claim.deleted, claim.age_key()))?;
    Some((oldest, drains().count().saturating_sub(1)))
}

fn exceeded(situation: &Situation<'_>, termination: &ExcessDecision<'_>) -> Option<News> {
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
            format!("none is terminated although over-limit is terminate: {NO_RIGHT}"),
            what,
        )
    } else if situation.is_frozen() {
        let why = "none is terminated while the NodePool is frozen";
        (why.to_owned(), format!("frozen {excess} {}", limit.nodes))
    } else if termination.chosen.is_empty() {
        let settle = situation.settings.settle.as_secs();
        let then = format!("the cheapest are terminated after {settle} s without a change");
        (then, "settling".to_owned())
    } else {
        let names = names(&termination.chosen);
        (format!("terminating {names} (over-limit: terminate)"), names)
    };
    let message = format!("{above}; {then}");
    Some(News::new(EventReason::NodeLimitExceeded, message, what))
}

fn names(claims: &[&ClaimState<'_>]) -> String {
    first_few(claims.iter().map(|claim| &claim.name), MOST_NAMES)
}

/// The reports on nodes that must be replaced although the pool is full.
fn replacement_topics(
    situation: &Situation<'_>,
    decided: &Replacements<'_>,
    refusal: Option<&str>,
) -> [(Topic, Option<News>); 5] {
    let ended = |outcome: ReplacementOutcome| decided.ended.iter().find(|ended| ended.outcome == outcome);
    let begun = decided.ledger.as_ref();
    let begun = begun.and_then(|ledger| ledger.replacement.as_ref());
    [
        (
            Topic::ReplacementStarted,
            begun.map(|replacement| started(situation, replacement)),
        ),
        (Topic::ReplacementBlocked, replacement_blocked(decided)),
        (Topic::ReplacementRefused, refusal.map(refused)),
        (
            Topic::ReplacementDropped,
            ended(ReplacementOutcome::Dropped).map(dropped),
        ),
        (
            Topic::ReplacementStopped,
            ended(ReplacementOutcome::Stopped).map(stopped),
        ),
    ]
}

fn started(situation: &Situation<'_>, replacement: &Replacement) -> News {
    let Replacement {
        uid,
        claim,
        node,
        reason,
        ..
    } = replacement;
    let then = "but the pool is at its limit, so poolgate deletes it first";
    let message = match reason {
        ReplacedFor::Unhealthy => {
            let bound = bound(situation, uid);
            // Karpenter does not count the node any more: see `Situation::limit_write`.
            let denied = if situation.pool.leaves_limit_to_poolgate {
                ""
            } else {
                ". Until it is gone, Karpenter's requests for a replacement are denied"
            };
            format!("node {node} (NodeClaim {claim}) needs repair, {then} (drain limited to {bound}){denied}")
        }
        ReplacedFor::Drifted => format!("node {node} (NodeClaim {claim}) has drifted, {then}"),
    };
    News::new(EventReason::ReplacementStarted, message, uid.to_string())
}

/// How long the drain of a claim may take.
fn bound(situation: &Situation<'_>, uid: &Uid) -> String {
    let claim = situation.claims.iter().find(|claim| *claim.uid == *uid.as_str());
    if claim.is_some_and(|claim| claim.has_grace_period) {
        return "its terminationGracePeriod".to_owned();
    }
    format!("{} s", situation.pool.repair_grace_period.as_secs())
}

fn replacement_blocked(decided: &Replacements<'_>) -> Option<News> {
    let is_told = |obstacle: &Obstacle| obstacle.stays() || *obstacle == Obstacle::NotHard;
    let obstacle = decided.obstacle.filter(is_told)?;
    let nodes = decided.waiting.iter().filter_map(|claim| claim.node);
    let nodes: Vec<&str> = nodes.map(|node| &*node.name).collect();
    let (count, nodes) = (nodes.len(), first_few(nodes, MOST_NAMES));
    let message =
        format!("Karpenter wants to repair node {nodes}, but no replacement may be created: {obstacle}");
    let what = format!("{obstacle} {count}");
    (count > 0).then(|| News::new(EventReason::ReplacementBlocked, message, what))
}

fn refused(why: &str) -> News {
    let message = format!("a drifted node is not replaced: {why}");
    News::new(EventReason::ReplacementBlocked, message, why.to_owned())
}

fn dropped(ended: &Ended) -> News {
    let node = &ended.node;
    let message = format!(
        "node {node} is not replaced: Karpenter has not tried to repair it for a minute. The node has recovered, too many \
         nodes of the pool are broken (event NodeRepairBlocked), or a budget blocks the repair"
    );
    News::new(EventReason::ReplacementDropped, message, node.to_string())
}

fn stopped(ended: &Ended) -> News {
    let node = &ended.node;
    let message = format!(
        "no new node was initialized within 15 minutes after {node} was gone. poolgate replaces no other node of this pool \
         until spec.template changes or NodeClassReady becomes true again"
    );
    News::new(EventReason::ReplacementStopped, message, node.to_string())
}
