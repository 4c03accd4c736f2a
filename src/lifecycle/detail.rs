//! What a part of the process has to say of itself to whoever asks whether it is ready.

use std::fmt::Debug;

/// A part of the process with a state worth a line.
pub(crate) trait Detail: Debug + Send + Sync {
    /// The state, as one line without its end.
    fn line(&self) -> String;
}
