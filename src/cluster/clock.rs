//! The clocks of a process: a monotonic one, and wall time for what is stored.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use poolgate_core::nodelimit::ledger::Moment;
use tokio::time::Instant;

/// Both clocks of this process. Clones are the same ones.
#[derive(Clone)]
pub struct Clock {
    start: Instant,
    /// The last moment that was returned, in nanoseconds.
    last: Arc<AtomicU64>,
    wall: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// By how many seconds the wall time was last seen to be ahead of the API server's.
    ahead: Arc<AtomicI64>,
}

/// How far the wall time may be from the API server's, in seconds. Less than by which a schedule raises a limit late.
const MOST_AHEAD: u64 = 30;

impl Clock {
    /// A monotonic clock that is at zero, and the system's wall time.
    #[expect(
        clippy::disallowed_methods,
        reason = "everybody else takes the time from here"
    )]
    pub fn start() -> Self {
        Self::with_wall_time(Timestamp::now)
    }

    /// The same with this wall time.
    pub fn with_wall_time(wall: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self {
            start: Instant::now(),
            last: Arc::default(),
            wall: Arc::new(wall),
            ahead: Arc::default(),
        }
    }

    /// Compares the wall time with that of the API server, in whole seconds, which has just done something.
    pub fn compare(&self, server: Timestamp) {
        let ahead = self.wall().as_second().saturating_sub(server.as_second());
        self.ahead.store(ahead, Ordering::Relaxed);
    }

    /// By how many seconds the wall time was last seen to be ahead of the API server's.
    pub fn ahead(&self) -> i64 {
        self.ahead.load(Ordering::Relaxed)
    }

    /// Whether it was about the same as the API server's.
    pub fn is_right(&self) -> bool {
        self.ahead().unsigned_abs() <= MOST_AHEAD
    }

    /// The monotonic time now, later than any returned before. A read that began before a request must not look
    /// simultaneous with it.
    pub fn now(&self) -> Moment {
        let elapsed = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let later = |last: u64| Some(elapsed.max(last.saturating_add(1)));
        let last = self
            .last
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, later);
        Moment::at(Duration::from_nanos(last.ok().and_then(later).unwrap_or(elapsed)))
    }

    /// Wall time.
    pub fn wall(&self) -> Timestamp {
        (self.wall)()
    }

    /// Wall time in seconds since 1970.
    pub fn wall_seconds(&self) -> u64 {
        // A clock before 1970 is not an error: the time is only shown.
        self.wall().as_second().try_into().unwrap_or(0)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock")
            .field("start", &self.start)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_moment_is_later_than_every_one_before_it_even_while_time_stands_still() {
        let clock = Clock::start();
        let (first, second) = (clock.now(), clock.clone().now());
        assert!(second > first);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(clock.now(), Moment::at(Duration::from_secs(1)));
    }
}
