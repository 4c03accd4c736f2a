//! A finding with its place in the text.

use std::fmt::{self, Write as _};

use poolgate_core::diagnostic::{FieldPath, Origin, Severity};

use super::fix::TextEdit;
use super::source_range::SourceRange;
use crate::files;

/// What is wrong, and where.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    /// What to point at.
    pub(super) place: SourceRange,
    /// How much it weighs.
    pub(super) severity: Severity,
    /// Who else would notice.
    pub(super) origin: Origin,
    /// Whether it would be an error, and Karpenter refuses it, though a policy or a comment has made less of it.
    pub(super) is_lowered: bool,
    /// The name of the rule.
    pub(super) rule: &'static str,
    /// The object that it is about; none for a document that cannot be read.
    pub(super) object: Option<Object>,
    /// The file that the object was rendered from, where the renderer says so.
    pub(super) source: Option<String>,
    /// The field, from the root of the document.
    pub(super) field: Option<FieldPath>,
    /// What is wrong: one line without the field.
    pub(super) message: String,
    /// What to write instead.
    pub(super) suggestion: Option<String>,
    /// The suggestion as a change to the text, where it is certain.
    pub(super) edit: Option<TextEdit>,
    /// Why a certain suggestion is left to the author.
    pub(super) left: Option<String>,
    /// Other places that it rests on.
    pub(super) related: Vec<SourceRange>,
}

/// Which object of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Object {
    /// `NodePool` or `NodeClaim`.
    pub(super) kind: &'static str,
    /// Its name; none while it is to be generated, and where it is no text.
    pub(super) name: Option<String>,
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{} {}", self.kind, files::name(name)),
            None => f.write_str(self.kind),
        }
    }
}

impl Finding {
    /// What lint says by itself of a manifest that no API server would store; with nothing but its place.
    pub(super) const fn of_manifest(rule: &'static str, severity: Severity, place: SourceRange) -> Self {
        Self {
            place,
            severity,
            origin: Origin::Schema,
            is_lowered: false,
            rule,
            object: None,
            source: None,
            field: None,
            message: String::new(),
            suggestion: None,
            edit: None,
            left: None,
            related: Vec::new(),
        }
    }

    /// Whether Karpenter refuses the object for it, however much it weighs.
    pub(super) fn is_refused(&self) -> bool {
        self.is_lowered || (self.severity == Severity::Error && self.origin.is_karpenters())
    }

    /// Whether the exit code holds it against the file.
    pub(super) fn is_failure(&self) -> bool {
        self.is_lowered || self.severity == Severity::Error
    }

    /// The sentence with the object and the field before it.
    pub(super) fn sentence(&self) -> String {
        let mut sentence = String::new();
        if let Some(object) = &self.object {
            let _ = write!(sentence, "{object}: ");
        }
        if let Some(field) = &self.field {
            let _ = write!(sentence, "{field}: ");
        }
        sentence + &self.message
    }
}
