//! Whether new requests should be sent here, and the lines of `/readyz`. Those lines decide nothing: if a part is
//! down that is not needed, its line says so, and the process stays ready.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use arc_swap::ArcSwap;
use parking_lot::{Mutex, MutexGuard};

const READY: u8 = 1;
const LEAVING: u8 = 2;

/// The phase of the process, which only moves forward, and what the process needs to do its work.
#[derive(Default)]
pub struct Readiness {
    stage: AtomicU8,
    lacks: Option<Box<dyn Fn() -> Option<String> + Send + Sync>>,
}

impl Readiness {
    /// The readiness of a process that cannot work while `lacks` says what is missing.
    pub fn needing(lacks: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        Self {
            stage: AtomicU8::default(),
            lacks: Some(Box::new(lacks)),
        }
    }

    /// Everything that must run is running.
    pub fn ready(&self) {
        self.stage.fetch_max(READY, Ordering::Relaxed);
    }

    /// The process was signalled to stop.
    pub fn leave(&self) {
        self.stage.fetch_max(LEAVING, Ordering::Relaxed);
    }

    /// Why no new work should be sent here, if it should not.
    pub fn unready(&self) -> Option<String> {
        match self.stage.load(Ordering::Relaxed) {
            READY => self.lacks.as_ref().and_then(|lacks| lacks()),
            LEAVING => Some("shutting down".into()),
            _ => Some("starting".into()),
        }
    }

    /// Whether connected clients should look for another server.
    pub fn is_leaving(&self) -> bool {
        self.stage.load(Ordering::Relaxed) == LEAVING
    }
}

/// The lines of `/readyz`, one for each part of the process, in the order in which they were taken. Clones are the same board.
#[derive(Debug, Clone, Default)]
pub struct StatusBoard(Arc<Mutex<Vec<(&'static str, StatusLine)>>>);

impl StatusBoard {
    /// A new line for this part.
    pub fn line(&self, part: &'static str) -> StatusLine {
        let line = StatusLine::default();
        self.parts().push((part, line.clone()));
        line
    }

    /// All current lines, each with its line end.
    pub fn text(&self) -> String {
        let parts = self.parts();
        let lines = parts
            .iter()
            .map(|(part, line)| format!("{part}: {}\n", line.state()));
        lines.collect()
    }

    fn parts(&self) -> MutexGuard<'_, Vec<(&'static str, StatusLine)>> {
        self.0.lock()
    }
}

/// The state of one part as a text, which the part keeps up to date. Clones are the same line.
#[derive(Debug, Clone, Default)]
pub struct StatusLine(Arc<ArcSwap<String>>);

impl StatusLine {
    /// Sets the state.
    pub fn set(&self, state: impl Into<String>) {
        self.0.store(Arc::new(state.into()));
    }

    /// The state.
    pub fn state(&self) -> Arc<String> {
        self.0.load_full()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_shuts_down_is_never_ready_again() {
        let readiness = Readiness::default();
        assert_eq!(readiness.unready().as_deref(), Some("starting"));
        assert!(!readiness.is_leaving());
        readiness.ready();
        assert_eq!(readiness.unready(), None);
        readiness.leave();
        readiness.ready();
        assert_eq!(readiness.unready().as_deref(), Some("shutting down"));
        assert!(readiness.is_leaving());
    }

    #[test]
    fn a_process_is_not_ready_while_a_need_is_missing() {
        let thing = Arc::new(AtomicU8::default());
        let seen = Arc::clone(&thing);
        let lacks = move || (seen.load(Ordering::Relaxed) == 0).then(|| "there is no thing".into());
        let readiness = Readiness::needing(lacks);
        assert_eq!(readiness.unready().as_deref(), Some("starting"));
        readiness.ready();
        assert_eq!(readiness.unready().as_deref(), Some("there is no thing"));
        thing.store(1, Ordering::Relaxed);
        assert_eq!(readiness.unready(), None);
        thing.store(0, Ordering::Relaxed);
        assert_eq!(readiness.unready().as_deref(), Some("there is no thing"));
    }
}
