//! Waiting for something to become true, with a limit.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long to wait for what has to come: far longer than anything takes, even on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(10);

/// How long to wait before the next look: looks cost something, and what has taken long may take longer.
pub(crate) fn pause(waited: Duration) -> Duration {
    (waited / 20).clamp(Duration::from_millis(20), Duration::from_millis(500))
}

/// Looks again and again until `look` gives a value; panics if it never does.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        let waited = begun.elapsed();
        assert!(waited < PATIENCE, "waited {PATIENCE:?} for {what}, in vain");
        sleep(pause(waited));
    }
}
