//! What is remembered of the nodes that must be replaced in a pool at its limit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::claim::ClaimState;
use crate::nodelimit::ledger::Moment;

/// How long a turn is, and how long after Karpenter's last try its verdict counts.
pub const VERDICT_LASTS: Duration = Duration::from_mins(1);

/// How long a drifted node is left alone that could not be drained without harm.
const REFUSAL_LASTS: Duration = Duration::from_mins(5);

/// What is remembered of the replacements of a pool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplacementMemory {
    /// Since when each node has been barred, by the UID of its claim.
    pub(crate) barred: BTreeMap<Arc<str>, Moment>,
    /// The node whose turn it is.
    pub(crate) turn: Option<Turn>,
    /// Since when the listed claim has been gone.
    pub(crate) gone_since: Option<Moment>,
    /// Since when no pod that the pool could serve has been pending.
    pub(crate) calm_since: Option<Moment>,
    /// Drifted nodes that could not be drained without harm, by the UID of the claim.
    refused: BTreeMap<Arc<str>, Refused>,
}

/// A node's turn: it is not barred, to see whether Karpenter still wants to repair it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The UID of its claim.
    pub(crate) uid: Arc<str>,
    /// When the turn began.
    pub(crate) since: Moment,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Refused {
    at: Moment,
    why: String,
}

impl Turn {
    pub fn is_of(&self, claim: &ClaimState<'_>) -> bool {
        self.uid == claim.claim.uid
    }

    pub const fn end(&self) -> Moment {
        self.since.plus(VERDICT_LASTS)
    }
}

impl ReplacementMemory {
    /// Records which nodes wait, and whether a pod waits for the pool.
    pub fn see(&mut self, waiting: &[&ClaimState<'_>], is_awaited: bool, now: Moment) {
        let barred = waiting.iter().map(|claim| {
            let uid = &claim.claim.uid;
            (Arc::clone(uid), self.barred.get(uid).copied().unwrap_or(now))
        });
        self.barred = barred.collect();
        self.calm_since = (!is_awaited).then(|| self.calm_since.unwrap_or(now));
        self.refused
            .retain(|_, refused| now.since(refused.at) < REFUSAL_LASTS);
    }

    /// Records that a node cannot be drained without harm, and why.
    pub fn refuse(&mut self, uid: &Arc<str>, why: String, now: Moment) {
        self.refused.insert(Arc::clone(uid), Refused { at: now, why });
    }

    /// Whether a node could not be drained without harm a short time ago.
    pub fn is_refused(&self, claim: &ClaimState<'_>) -> bool {
        self.refused.contains_key(&claim.claim.uid)
    }

    /// Why a node could not be drained without harm, if there is one.
    pub fn refusal(&self) -> Option<&str> {
        self.refused.values().next().map(|refused| &*refused.why)
    }

    /// When the first of these nodes may be looked at again.
    pub fn refusal_ends(&self) -> Option<Moment> {
        self.refused
            .values()
            .map(|refused| refused.at.plus(REFUSAL_LASTS))
            .min()
    }
}
