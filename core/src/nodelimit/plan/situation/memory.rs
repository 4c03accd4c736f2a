//! What is remembered of a pool from one plan to the next: nothing that must survive a restart.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::api::NodeLimit;
use crate::nodelimit::ledger::Moment;
use crate::nodelimit::plan::state::{ClaimState, LedgerIdentity};

/// How long Karpenter may retry the repair of one node, and how long after its last try the repair counts as stuck.
pub const RETRY_LASTS: Duration = Duration::from_mins(1);

/// How long a drifted node is left alone that could not be drained without harm.
const REFUSAL_LASTS: Duration = Duration::from_mins(5);

/// How long something must be over before it is reported again when it comes back.
const OVER: Duration = Duration::from_mins(10);

/// What is remembered from one plan of a pool to the next. Begin with [`Memory::default`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// When each claim was last given a turn, by UID.
    pub(crate) turns: BTreeMap<Arc<str>, Moment>,
    /// When Karpenter was first seen disrupting each node, by the UID of its claim. The condition's timestamp is no use:
    /// it is written after the taint, and not at all by Karpenter 1.0.
    pub(crate) disruptions: BTreeMap<Arc<str>, Moment>,
    /// Since when there has been enough room to hold no node.
    pub(crate) roomy_since: Option<Moment>,
    /// Since when a pod that the pool could serve has been pending although there is room and no node is
    /// being created.
    pub(crate) unserved_since: Option<Moment>,
    /// The limits of the last settle time.
    pub(crate) limits: RecentLimits,
    /// The present limit, and since when it has been the same.
    pub(crate) limit_since: Option<(Option<NodeLimit>, Moment)>,
    /// The limit that a schedule has in force, and the number that was stored when that was last seen to be so.
    pub(crate) scheduled: Option<(u32, Option<u32>)>,
    /// The present ledger, and since when it has been the same.
    pub(crate) ledger_since: Option<(Option<LedgerIdentity>, Moment)>,
    /// Nodes that stay held for some time after a denial, by the UID of the claim, and when they were last denied.
    pub(crate) denied: BTreeMap<Arc<str>, Moment>,
    /// Since when each node that waits for its repair has been held from it, by the UID of its claim.
    pub(crate) held_from_repair: BTreeMap<Arc<str>, Moment>,
    /// The node whose repair Karpenter may retry now.
    pub(crate) retry: Option<Retry>,
    /// Since when the claim that the ledger lists for replacement has been gone.
    pub(crate) gone_since: Option<Moment>,
    /// Since when no pod that the pool could serve has been pending.
    pub(crate) calm_since: Option<Moment>,
    /// Drifted nodes that could not be drained without harm, by the UID of the claim.
    refused: BTreeMap<Arc<str>, Refused>,
    /// The events that were reported, by topic.
    pub(crate) reported: BTreeMap<Topic, LastEvent>,
}

/// The subject of an event. Each topic of a pool is reported again only when something has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// Drifted nodes may not be disrupted.
    BlockedDrifted,
    /// No node may be consolidated.
    BlockedUnderutilized,
    /// Pods wait for nodes that the pool may not have.
    Reached,
    /// A schedule changes the limit.
    Scheduled,
    /// The pool has more nodes than it may.
    Exceeded,
    /// A node is terminated first and then replaced.
    ReplacementStarted,
    /// Nodes wait for their replacement.
    ReplacementBlocked,
    /// A drifted node cannot be drained without harm.
    ReplacementRefused,
    /// A node need not be replaced after all.
    ReplacementDropped,
    /// A node was not replaced.
    ReplacementStopped,
}

/// What was last reported on a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastEvent {
    /// Identifies what was reported: the same text is not reported again.
    pub(crate) what: String,
    /// Since when it is no longer true; `None` while it is.
    pub(crate) over_since: Option<Moment>,
}

impl Memory {
    /// Forgets whose turn it was and whether there was room.
    pub(crate) fn forget_room(&mut self) {
        self.turns.clear();
        self.roomy_since = None;
        self.unserved_since = None;
    }

    /// Records which nodes Karpenter is disrupting.
    pub(crate) fn see_disruptions(&mut self, claims: &[&ClaimState<'_>], now: Moment) {
        let disrupted = claims.iter().filter(|claim| claim.is_being_disrupted());
        let seen = disrupted.map(|claim| {
            let uid = &claim.uid;
            (Arc::clone(uid), self.disruptions.get(uid).copied().unwrap_or(now))
        });
        self.disruptions = seen.collect();
    }

    /// Records the limit. Returns since when it has been the same.
    pub(crate) fn see_limit(&mut self, limit: Option<NodeLimit>, now: Moment) -> Moment {
        let same = self.limit_since.filter(|(before, _)| *before == limit);
        let (_, since) = *self.limit_since.insert(same.unwrap_or((limit, now)));
        since
    }

    /// Records which ledger there is. Returns since when it has been the same.
    pub(crate) fn see_ledger(&mut self, ledger: Option<&LedgerIdentity>, now: Moment) -> Moment {
        if let Some((before, since)) = &self.ledger_since
            && before.as_ref() == ledger
        {
            return *since;
        }
        self.ledger_since = Some((ledger.cloned(), now));
        now
    }

    /// Whether a topic is to be reported now; records it. `what` identifies what is reported; `None` while there is
    /// nothing to report.
    pub(crate) fn is_news(&mut self, topic: Topic, what: Option<String>, now: Moment) -> bool {
        let Some(what) = what else {
            if let Some(reported) = self.reported.get_mut(&topic) {
                reported.over_since.get_or_insert(now);
            }
            return false;
        };
        let is_old = self.reported.get(&topic).is_some_and(|before| {
            let is_over = before.over_since.is_some_and(|since| now.since(since) >= OVER);
            before.what == what && !is_over
        });
        let over_since = None;
        self.reported.insert(topic, LastEvent { what, over_since });
        !is_old
    }

    /// Forgets everything about nodes that are replaced at the limit.
    pub(crate) fn forget_replacements(&mut self) {
        self.held_from_repair.clear();
        self.retry = None;
        self.gone_since = None;
        self.calm_since = None;
        self.refused.clear();
    }

    /// Records which nodes wait for their repair, and whether a pod waits for the pool.
    pub(crate) fn see_replacements(&mut self, waiting: &[&ClaimState<'_>], is_awaited: bool, now: Moment) {
        let held = waiting.iter().map(|claim| {
            let uid = &claim.uid;
            (
                Arc::clone(uid),
                self.held_from_repair.get(uid).copied().unwrap_or(now),
            )
        });
        self.held_from_repair = held.collect();
        self.calm_since = (!is_awaited).then(|| self.calm_since.unwrap_or(now));
        self.refused
            .retain(|_, refused| now.since(refused.at) < REFUSAL_LASTS);
    }

    /// Records that the node of a claim, by its UID, cannot be drained without harm, and why: another one is chosen.
    pub fn refuse(&mut self, uid: &Arc<str>, why: String, now: Moment) {
        self.refused.insert(Arc::clone(uid), Refused { at: now, why });
    }

    /// Whether a node could not be drained without harm a short time ago.
    pub(crate) fn is_refused(&self, claim: &ClaimState<'_>) -> bool {
        self.refused.contains_key(&claim.uid)
    }

    /// Why a node could not be drained without harm, if there is one.
    pub(crate) fn refusal(&self) -> Option<&str> {
        self.refused.values().next().map(|refused| &*refused.why)
    }

    /// When the first of these nodes may be looked at again.
    pub(crate) fn refusal_ends(&self) -> Option<Moment> {
        self.refused
            .values()
            .map(|refused| refused.at.plus(REFUSAL_LASTS))
            .min()
    }
}

/// The node whose repair Karpenter may retry: it is not held from that, to see whether Karpenter still wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// The UID of its claim.
    pub(crate) uid: Arc<str>,
    /// When it began.
    pub(crate) since: Moment,
}

impl Retry {
    pub fn is_of(&self, claim: &ClaimState<'_>) -> bool {
        self.uid == claim.uid
    }

    pub const fn end(&self) -> Moment {
        self.since.plus(RETRY_LASTS)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Refused {
    at: Moment,
    why: String,
}

/// The limits that a pool had recently, each with the time when it was last seen, the newest last. `None`: no
/// limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecentLimits(Vec<(Option<NodeLimit>, Moment)>);

impl RecentLimits {
    /// Records the current limit, and forgets those not seen for as long as `memory`.
    pub fn see(&mut self, limit: Option<NodeLimit>, now: Moment, memory: Duration) {
        match self.0.last_mut() {
            Some((_, until)) => *until = now,
            // The limit before the first look is not known.
            None => self.0.push((None, now)),
        }
        // Limits that are not more lenient than this one no longer matter: the list stays short.
        self.0
            .retain(|(other, until)| now.since(*until) < memory && !is_as_lenient(limit, *other));
        self.0.push((limit, now));
    }

    /// The most lenient combination of these limits; `None` if one of them is missing or not known.
    pub fn most_lenient(&self) -> Option<NodeLimit> {
        let limits = self.0.iter().map(|(limit, _)| *limit);
        limits.reduce(|one, other| Some(joined(one?, other?))).flatten()
    }

    /// When the first of the past limits is forgotten.
    pub fn next_change(&self, memory: Duration) -> Option<Moment> {
        let (_, past) = self.0.split_last()?;
        past.iter().map(|(_, until)| until.plus(memory)).min()
    }
}

/// Whether a limit is at least as lenient as another one.
fn is_as_lenient(limit: Option<NodeLimit>, other: Option<NodeLimit>) -> bool {
    limit.is_none_or(|limit| other.is_some_and(|other| joined(limit, other) == limit))
}

/// The most lenient combination: `Soft` is above `Hard`, and `Report` below `Terminate`.
fn joined(one: NodeLimit, other: NodeLimit) -> NodeLimit {
    NodeLimit {
        nodes: one.nodes.max(other.nodes),
        mode: one.mode.max(other.mode),
        over_limit: one.over_limit.min(other.over_limit),
    }
}
