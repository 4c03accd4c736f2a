//! What `/readyz` tells beside yes and no. It never decides: a part that is down and can be done without is a
//! line, not a refusal.

use std::fmt::Debug;
use std::sync::Arc;

use arc_swap::ArcSwap;

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
