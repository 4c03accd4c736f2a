//! What is wrong with a text whose reader distinguishes its mistakes only in words.

use crate::diagnostic::Suggestion;

/// Why a text cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Mistake {
    /// A clause without a full stop.
    pub why: &'static str,
    /// What to write instead, if that is certain.
    pub suggestion: Option<Suggestion>,
}

impl Mistake {
    /// A mistake without a suggestion.
    pub(crate) const fn new(why: &'static str) -> Self {
        Self {
            why,
            suggestion: None,
        }
    }

    /// Adds what to write instead, if that is known.
    pub(crate) fn suggest(self, suggestion: Option<Suggestion>) -> Self {
        Self { suggestion, ..self }
    }
}
