//! Monotonic time of one replica, and when a thing was read.

use std::time::Duration;

/// An instant on one replica's own monotonic clock, counted from any point that stays the same while it runs.
/// Never stored and never compared with another replica's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(Duration);

impl Moment {
    /// The instant this long after the replica's own point of reference.
    pub const fn at(since_start: Duration) -> Self {
        Self(since_start)
    }

    /// The instant this much earlier; the point of reference at the earliest.
    #[must_use]
    pub const fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(duration))
    }

    /// The instant this much later.
    #[must_use]
    pub const fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }

    /// How long ago that was; nothing if it is still to come.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// From when to when a consistent read of the API server took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadSpan {
    /// Before the request was sent: all that was stored by then is in the answer.
    pub begun: Moment,
    /// After the answer was here: nothing stored later is in it.
    pub done: Moment,
}

/// What is believed of the cluster, and when it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed<T> {
    /// What was found.
    pub value: T,
    /// The consistent read that brought it (a GET, or a LIST without resourceVersion, which the API server answers
    /// from a quorum); none where it comes from a watch, or from what this replica wrote last.
    pub read: Option<ReadSpan>,
}

impl<T> Observed<T> {
    /// What was not read but kept up to date: by a watch, or by own writes.
    pub const fn kept(value: T) -> Self {
        Self { value, read: None }
    }

    /// What a consistent read brought.
    pub const fn read(value: T, begun: Moment, done: Moment) -> Self {
        Self {
            value,
            read: Some(ReadSpan { begun, done }),
        }
    }

    /// Whether it holds all that was stored at this instant.
    pub fn is_as_of(&self, moment: Moment) -> bool {
        self.read.is_some_and(|read| read.begun >= moment)
    }

    /// Whether it was asked for after the other had come in, so that it cannot be the older of the two.
    pub fn follows<U>(&self, other: &Observed<U>) -> bool {
        other.read.is_some_and(|other| self.is_as_of(other.done))
    }
}
