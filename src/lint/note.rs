//! A message of lint itself, not of a rule of the catalogue.

use poolgate_core::diagnostic::{FieldPath, Severity};

/// The message and its field.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) rule: &'static str,
    pub(super) severity: Severity,
    /// The field, from the root of the document.
    pub(super) field: FieldPath,
    pub(super) message: String,
    pub(super) suggestion: String,
}
