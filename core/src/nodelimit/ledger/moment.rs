//! Monotonic time of one replica, and when something was read.

use std::time::Duration;

/// An instant on one replica's own monotonic clock, counted from a point that stays the same while it runs. Never
/// stored and never compared with another replica's.
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

    /// How long ago that was; zero if it is in the future.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// The time that a consistent read of the API server took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadSpan {
    /// Before the request was sent: everything stored before that is in the answer.
    pub begun: Moment,
    /// After the answer was received: nothing stored later is in it.
    pub done: Moment,
}

/// What is known of the cluster, and when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed<T> {
    /// What was read or watched.
    pub value: T,
    /// The consistent read that returned it (a GET, or a LIST without resourceVersion, which the API server answers
    /// from a quorum); `None` if it is from a watch, or from what this replica wrote last.
    pub read: Option<ReadSpan>,
}

impl<T> Observed<T> {
    /// A value that was not read but kept up to date: by a watch, or by its own writes.
    pub const fn kept(value: T) -> Self {
        Self { value, read: None }
    }

    /// The result of a consistent read.
    pub const fn read(value: T, begun: Moment, done: Moment) -> Self {
        Self {
            value,
            read: Some(ReadSpan { begun, done }),
        }
    }

    /// Whether it contains everything that was stored at this instant.
    pub(crate) fn is_as_of(&self, moment: Moment) -> bool {
        self.read.is_some_and(|read| read.begun >= moment)
    }

    /// Whether it was requested after the other was received, so that it cannot be the older of the two.
    pub fn follows<U>(&self, other: &Observed<U>) -> bool {
        other.read.is_some_and(|other| self.is_as_of(other.done))
    }
}
