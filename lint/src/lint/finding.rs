//! A finding with its place in the text.

use std::fmt::{self, Write as _};

use poolgate_core::diagnostic::{FieldPath, Origin, Severity};
use serde::Serialize;

use super::fix::TextEdit;
use super::source_range::SourceRange;
use crate::files;

/// What is wrong, and where.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The range of the text to show.
    pub place: SourceRange,
    /// How serious it is, after policy, ratchet and comments.
    pub severity: Severity,
    /// Who else would notice.
    pub origin: Origin,
    /// Whether it was an error before a policy or a comment lowered it, and Karpenter rejects the object for it.
    pub is_lowered: bool,
    /// The name of the rule.
    pub rule: &'static str,
    /// The object that it is about; `None` for a document that cannot be read.
    pub object: Option<Object>,
    /// The file that the object was rendered from, if the renderer says so.
    pub source: Option<String>,
    /// The field, from the root of the document.
    pub field: Option<FieldPath>,
    /// What is wrong: one line without the field.
    pub message: String,
    /// What to write instead.
    pub suggestion: Option<String>,
    /// The suggestion as a change to the text, if it is certain.
    pub edit: Option<TextEdit>,
    /// Why a certain suggestion is left to the author.
    pub left: Option<String>,
    /// Other places of the same object that it depends on.
    pub related: Vec<SourceRange>,
    /// The fields at those places, from the root of the document.
    pub related_fields: Vec<FieldPath>,
    /// Other objects that it depends on.
    pub elsewhere: Vec<Elsewhere>,
}

/// Where another object is.
#[derive(Debug, Clone)]
pub struct Elsewhere {
    pub object: Object,
    /// The name of its input.
    pub file: String,
    pub place: SourceRange,
}

impl fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { object, file, place } = self;
        write!(f, "{object} at {file}:{}", place.start)
    }
}

/// How many other objects a sentence names; the rest are only counted.
const MOST_NAMED: usize = 5;

/// Which object of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Object {
    /// The kind as it is in the object, `NodePool` or `NodeClaim`.
    pub kind: &'static str,
    /// Its name; `None` if the API server will generate it, or if it is not a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
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
    /// A finding of lint itself on a manifest that no API server would store; with only its place.
    pub const fn of_manifest(rule: &'static str, severity: Severity, place: SourceRange) -> Self {
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
            related_fields: Vec::new(),
            elsewhere: Vec::new(),
        }
    }

    /// Its field; for a mistake in the text itself, the message.
    pub fn field_or_message(&self) -> String {
        self.field
            .as_ref()
            .map_or_else(|| self.message.clone(), ToString::to_string)
    }

    /// Whether Karpenter rejects the object for it, whatever its severity is.
    pub fn is_rejected(&self) -> bool {
        self.is_lowered || (self.severity == Severity::Error && self.origin.is_karpenters())
    }

    /// Whether it counts as an error for the exit code.
    pub fn is_failure(&self) -> bool {
        self.is_lowered || self.severity == Severity::Error
    }

    /// The other objects that it depends on; `None` if there are none.
    pub fn see(&self) -> Option<String> {
        let named = self.elsewhere.iter().take(MOST_NAMED).map(ToString::to_string);
        let named: Vec<String> = named.collect();
        let more = match self.elsewhere.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!named.is_empty()).then(|| format!("see {}{more}", named.join(", ")))
    }

    /// The sentence with the object and the field before it.
    pub fn sentence(&self) -> String {
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

/// Why an offered fix was not written.
const UNWRITTEN: &str =
    "the fixes of this file together would cause an error or change something else: change it by hand";

/// Lines that say where a certain suggestion was not written, and why.
pub fn left(name: &str, findings: &[Finding]) -> Vec<String> {
    let of = |finding: &Finding| {
        let unwritten = finding.edit.as_ref().map(|_| UNWRITTEN);
        let why = finding.left.as_deref().or(unwritten)?;
        Some(format!("{name}:{}: not fixed: {why}", finding.place.start))
    };
    findings.iter().filter_map(of).collect()
}
