//! Waiting for something to become true, never for ever.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long to wait for what has to come: far longer than anything takes, on however busy a machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// Looks again and again until `look` gives a value; panics when `deadline` has passed without one.
pub(crate) fn wait_for<T>(what: &str, deadline: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(
            begun.elapsed() < deadline,
            "waited {deadline:?} for {what}, in vain"
        );
        sleep(Duration::from_millis(20));
    }
}
