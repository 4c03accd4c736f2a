//! Whether new work should come here, and what `/readyz` says beside yes and no. That never decides: a part that is
//! down and can be done without is a line, not a refusal.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use arc_swap::ArcSwap;

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

    /// The process was signalled to stop.
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

/// A part of the process with a state worth a line.
pub(crate) trait Detail: Debug + Send + Sync {
    /// The state, as one line without its end.
    fn line(&self) -> String;
}

/// How a part does, in words that it keeps up to date.
#[derive(Debug)]
pub(crate) struct StatusLine {
    part: &'static str,
    state: Arc<ArcSwap<String>>,
}

impl StatusLine {
    /// A part that writes its state there.
    pub(crate) fn new(part: &'static str, state: &Arc<ArcSwap<String>>) -> Self {
        Self {
            part,
            state: Arc::clone(state),
        }
    }
}

impl Detail for StatusLine {
    fn line(&self) -> String {
        format!("{}: {}", self.part, self.state.load())
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
