//! The two clocks of the cluster side: one that only ever goes forward, and one to write times down by.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use poolgate_core::nodelimit::ledger::Moment;

/// The monotonic clock of this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    /// A clock that is at zero.
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// How far it has come.
    pub(crate) fn now(self) -> Moment {
        self.of(Instant::now())
    }

    /// How far it had come at that time.
    pub(crate) fn of(self, instant: Instant) -> Moment {
        Moment::at(instant.saturating_duration_since(self.0))
    }
}

/// Wall time in seconds since 1970.
pub(crate) fn wall_seconds() -> u64 {
    // A clock before 1970 is no reason to reject anything: the time is only shown.
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |elapsed| elapsed.as_secs())
}
