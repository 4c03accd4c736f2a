//! The two clocks of the cluster side: a monotonic one, and wall time for what is stored.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use poolgate_core::nodelimit::ledger::Moment;

/// The monotonic clock of this process.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Instant);

impl Clock {
    /// A clock that is at zero.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Its time now.
    pub fn now(self) -> Moment {
        self.moment_of(Instant::now())
    }

    /// Its time at that instant.
    pub fn moment_of(self, instant: Instant) -> Moment {
        Moment::at(instant.saturating_duration_since(self.0))
    }
}

/// Wall time in seconds since 1970.
pub fn wall_seconds() -> u64 {
    // A clock before 1970 is not an error: the time is only shown.
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |elapsed| elapsed.as_secs())
}
