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
    /// Whether it would be an error, and Karpenter rejects it, though a policy or a comment has made less of it.
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
    /// Other places of the same object that it rests on.
    pub(super) related: Vec<SourceRange>,
    /// Other objects that it rests on.
    pub(super) elsewhere: Vec<Elsewhere>,
}

/// Where another object stands.
#[derive(Debug, Clone)]
pub(super) struct Elsewhere {
    pub(super) object: Object,
    /// The name of its input.
    pub(super) file: String,
    pub(super) place: SourceRange,
}

impl fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { object, file, place } = self;
        write!(
            f,
            "{object} at {file}:{}:{}",
            place.start.line, place.start.column
        )
    }
}

/// How many other objects a sentence names; the rest is only counted.
const MOST_NAMED: usize = 5;

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
            elsewhere: Vec::new(),
        }
    }

    /// Whether Karpenter rejects the object for it, however much it weighs.
    pub(super) fn is_rejected(&self) -> bool {
        self.is_lowered || (self.severity == Severity::Error && self.origin.is_karpenters())
    }

    /// Whether the exit code holds it against the file.
    pub(super) fn is_failure(&self) -> bool {
        self.is_lowered || self.severity == Severity::Error
    }

    /// Which other objects it rests on; none where it rests on none.
    pub(super) fn see(&self) -> Option<String> {
        let named = self.elsewhere.iter().take(MOST_NAMED).map(ToString::to_string);
        let named: Vec<String> = named.collect();
        let more = match self.elsewhere.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!named.is_empty()).then(|| format!("see {}{more}", named.join(", ")))
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

/// Why a fix was not written that was offered.
const UNWRITTEN: &str =
    "the fixes of this file together would bring an error or change something else: change it by hand";

/// Where a certain suggestion was not written, and why.
pub(super) fn left(name: &str, findings: &[Finding]) -> Vec<String> {
    let of = |finding: &Finding| {
        let unwritten = finding.edit.as_ref().map(|_| UNWRITTEN);
        let (start, why) = (finding.place.start, finding.left.as_deref().or(unwritten)?);
        Some(format!(
            "{name}:{}:{}: not fixed: {why}",
            start.line, start.column
        ))
    };
    findings.iter().filter_map(of).collect()
}
