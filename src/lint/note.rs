//! Something that lint says by itself, without a rule.

use poolgate_core::diagnostic::{FieldPath, Severity};

/// What is said, and of which field.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) rule: &'static str,
    pub(super) severity: Severity,
    /// The field, from the root of the document.
    pub(super) field: FieldPath,
    pub(super) message: String,
    pub(super) suggestion: String,
}
