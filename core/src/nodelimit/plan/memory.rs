//! What is remembered of a pool from one plan to the next: nothing that must survive a restart.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::recent_limits::RecentLimits;
use crate::karpenter::NodeLimitMode;
use crate::nodelimit::ledger::Moment;

/// For how long something must be over to be told as a new thing when it comes back.
const OVER: Duration = Duration::from_mins(10);

/// What is remembered from one plan of a pool to the next. Begin with [`Memory::default`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// When each claim was last given an open place, by UID.
    pub(super) turns: BTreeMap<Arc<str>, Moment>,
    /// Since when there have been places enough to hold no node.
    pub(super) roomy_since: Option<Moment>,
    /// Since when a pod has waited that the pool could serve, although there is a place and nothing grows.
    pub(super) unserved_since: Option<Moment>,
    /// The mode that the object itself last said.
    pub(super) written_mode: Option<NodeLimitMode>,
    /// The limits of the last settle time.
    pub(super) limits: RecentLimits,
    /// What was told in events.
    pub(super) told: BTreeMap<Topic, LastEvent>,
}

/// What an event is about. Of each topic the pool is reported anew only when something has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Topic {
    /// No node may be disrupted because it has drifted.
    BlockedDrifted,
    /// No node may be consolidated.
    BlockedUnderutilized,
    /// Pods wait for nodes that the pool may not have.
    Reached,
    /// The pool has more nodes than it may.
    Exceeded,
}

/// What was told of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LastEvent {
    /// What makes it the same thing.
    pub(super) what: String,
    /// Since when it is not so any more.
    pub(super) over_since: Option<Moment>,
}

impl Memory {
    /// Forgets whose turn it was and whether there was room.
    pub(super) fn forget_room(&mut self) {
        self.turns.clear();
        self.roomy_since = None;
        self.unserved_since = None;
    }

    /// Whether a topic is to be reported now, and takes it down. `what` is what makes it the same thing; none while there
    /// is nothing to tell.
    pub(super) fn is_news(&mut self, topic: Topic, what: Option<String>, now: Moment) -> bool {
        let Some(what) = what else {
            if let Some(told) = self.told.get_mut(&topic) {
                told.over_since.get_or_insert(now);
            }
            return false;
        };
        let told = LastEvent {
            what,
            over_since: None,
        };
        let before = self.told.get(&topic);
        let is_old = before.is_some_and(|before| {
            let is_over = before.over_since.is_some_and(|since| now.since(since) >= OVER);
            before.what == told.what && !is_over
        });
        self.told.insert(topic, told);
        !is_old
    }
}
