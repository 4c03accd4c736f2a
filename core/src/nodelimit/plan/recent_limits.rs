//! The limits that a pool had recently. A limit that was mistyped for a moment must not cost any node.

use std::time::Duration;

use crate::api::NodeLimit;
use crate::nodelimit::ledger::Moment;

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
