//! What `/readyz` tells beside yes and no. It never decides: a part that is down and can be done without is a
//! line, not a refusal.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;

/// How one part of the process does, in a line that the part keeps up to date.
#[derive(Debug, Clone)]
pub(crate) struct Detail {
    part: &'static str,
    state: Arc<ArcSwap<String>>,
}

impl Detail {
    /// A part that writes its state there.
    pub(crate) fn new(part: &'static str, state: &Arc<ArcSwap<String>>) -> Self {
        Self {
            part,
            state: Arc::clone(state),
        }
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.part, self.state.load())
    }
}
