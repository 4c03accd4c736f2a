//! Whether new work should come here.

use std::sync::atomic::{AtomicU8, Ordering};

const READY: u8 = 1;
const LEAVING: u8 = 2;

/// Where the process stands in its life. It only ever moves forward.
#[derive(Debug, Default)]
pub(crate) struct Readiness(AtomicU8);

impl Readiness {
    /// All that must run does run.
    pub(crate) fn ready(&self) {
        self.0.fetch_max(READY, Ordering::Relaxed);
    }

    /// The process was told to end.
    pub(crate) fn leave(&self) {
        self.0.fetch_max(LEAVING, Ordering::Relaxed);
    }

    /// Whether new work should come here.
    pub(crate) fn is_ready(&self) -> bool {
        self.0.load(Ordering::Relaxed) == READY
    }

    /// Whether those who are connected should look for another server.
    pub(crate) fn is_leaving(&self) -> bool {
        self.0.load(Ordering::Relaxed) == LEAVING
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_leaves_never_comes_back() {
        let readiness = Readiness::default();
        assert!(!readiness.is_ready() && !readiness.is_leaving());
        readiness.ready();
        assert!(readiness.is_ready());
        readiness.leave();
        readiness.ready();
        assert!(!readiness.is_ready() && readiness.is_leaving());
    }
}
