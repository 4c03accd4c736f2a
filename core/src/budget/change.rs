//! When the number of allowed disruptions changes next.

use jiff::{SignedDuration, Timestamp};

use super::allowance::{Allowance, value};
use super::list::Budgets;
use super::reasons::Reason;
use super::timeline::Timeline;
use super::window::{SearchLimit, StateEnd};

/// The most fires that are checked. More than a month of every second minute.
const MOST_FIRES: u32 = 30_000;

/// How far ahead is searched: past the next 29 February.
const HORIZON: SignedDuration = SignedDuration::from_hours(5 * 366 * 24);

/// When the number of nodes that may be disrupted for a reason changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The number stays what it is for ever.
    Never,
    /// The number changes at a known instant.
    At {
        /// The instant of the change.
        at: Timestamp,
        /// What is allowed from then on.
        to: Allowance,
    },
    /// Not before this instant: the search ends there, after five years or some 30,000 fires.
    NotBefore(Timestamp),
}

impl Budgets {
    /// When the number of a pool's `nodes` that may be disrupted for a reason differs from that at an instant. Only
    /// correct if [`super::is_supported`].
    pub fn next_change(&self, reason: Reason, nodes: u32, at: Timestamp) -> Change {
        let horizon = at.checked_add(HORIZON).unwrap_or(Timestamp::MAX);
        let reach = SearchLimit {
            until: horizon,
            fires: MOST_FIRES,
        };
        let always = self.always_allowed(reason, nodes);
        let mut walk = Timeline::from(self, at, reach, |entry| {
            entry.reasons.has(reason) && always.is_none_or(|always| value(entry.nodes, nodes) < always)
        });
        let now = walk.allowance(reason, nodes).nodes();
        loop {
            let next = match walk.until() {
                StateEnd::Always => return Change::Never,
                StateEnd::AtLeast(until) => return Change::NotBefore(until.min(horizon)),
                StateEnd::At(next) if next > horizon => return Change::NotBefore(horizon),
                StateEnd::At(next) => next,
            };
            walk.advance(next);
            let to = walk.allowance(reason, nodes);
            if to.nodes() != now {
                return Change::At { at: next, to };
            }
            if walk.is_exhausted() {
                return Change::NotBefore(next);
            }
        }
    }
}
