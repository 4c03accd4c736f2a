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
    /// Whether the CRD nevertheless accepts the text.
    pub(crate) is_let_through: bool,
}

impl Mistake {
    /// A mistake that the CRD rejects as well.
    pub(crate) const fn new(why: &'static str) -> Self {
        Self {
            why,
            suggestion: None,
            is_let_through: false,
        }
    }

    /// Adds what to write instead, if that is known.
    pub(crate) fn suggest(self, suggestion: Option<Suggestion>) -> Self {
        Self { suggestion, ..self }
    }

    /// Notes that the CRD accepts the text.
    pub(crate) fn let_through(self) -> Self {
        Self {
            is_let_through: true,
            ..self
        }
    }
}
