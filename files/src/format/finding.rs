//! A finding with its place in the text.

use std::fmt::{self, Write as _};

use poolgate_core::diagnostic::{self, FieldPath, Severity, first_few};
use serde::Serialize;

use crate::edit::{SourceRange, TextEdit};
use crate::terminal;

/// A mistake and its place.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The name of the rule.
    pub rule: &'static str,
    /// How serious it is, after policy, ratchet and comments.
    pub severity: Severity,
    /// True if Karpenter rejects the object for it, whatever its severity is.
    pub is_rejected: bool,
    /// True if the API server may have stored the object with it.
    pub is_storable: bool,
    /// The object that it is about; `None` for a document that cannot be read.
    pub object: Option<Object>,
    /// The file that the object was rendered from, if the renderer says so.
    pub source: Option<String>,
    /// The user's file that it belongs to, if its place is in a text that was rendered from several.
    pub file: Option<String>,
    /// The field, from the root of the document.
    pub field: Option<FieldPath>,
    /// The range of the text to show.
    pub place: SourceRange,
    /// The value that it is about, as it is shown.
    pub value: Option<String>,
    /// What is wrong: one line without the field.
    pub title: String,
    /// What follows from it.
    pub consequence: Option<String>,
    /// Why its severity is not the rule's own.
    pub remark: Option<String>,
    /// What to write instead.
    pub suggestion: Option<String>,
    /// The suggestion as a change to the text.
    pub fix: Fix,
    /// Other fields of the same object that it depends on.
    pub related: Vec<Related>,
    /// Other objects that it depends on.
    pub elsewhere: Vec<Elsewhere>,
}

/// What `--fix` does about a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fix {
    /// Nothing is certain.
    None,
    /// This is written.
    Write(TextEdit),
    /// It is certain, and left to the author.
    Left {
        /// For this reason.
        why: String,
        /// What could be written, before it is tried.
        untried: Option<TextEdit>,
    },
}

impl Fix {
    /// What is written, or could be.
    pub fn edit(&self) -> Option<&TextEdit> {
        match self {
            Self::Write(edit)
            | Self::Left {
                untried: Some(edit), ..
            } => Some(edit),
            Self::None | Self::Left { untried: None, .. } => None,
        }
    }
}

/// A field and where it is.
#[derive(Debug, Clone)]
pub struct Related {
    /// From the root of the document.
    pub field: FieldPath,
    pub place: SourceRange,
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
            Some(name) => write!(f, "{} {}", self.kind, terminal::name(name)),
            None => f.write_str(self.kind),
        }
    }
}

impl Finding {
    /// A finding of lint itself, with only its place.
    pub const fn at(rule: &'static str, severity: Severity, place: SourceRange) -> Self {
        Self {
            rule,
            severity,
            is_rejected: false,
            is_storable: true,
            object: None,
            source: None,
            file: None,
            field: None,
            place,
            value: None,
            title: String::new(),
            consequence: None,
            remark: None,
            suggestion: None,
            fix: Fix::None,
            related: Vec::new(),
            elsewhere: Vec::new(),
        }
    }

    /// What is wrong, with the value: one line without the field.
    pub fn statement(&self) -> String {
        diagnostic::statement(&self.title, self.value.as_deref())
    }

    /// Its field; for a mistake in the text itself, the statement.
    pub fn field_or_statement(&self) -> String {
        self.field
            .as_ref()
            .map_or_else(|| self.statement(), ToString::to_string)
    }

    /// True if a policy or a comment has lowered it, although Karpenter rejects the object.
    pub fn is_lowered(&self) -> bool {
        self.is_rejected && self.severity < Severity::Error
    }

    /// True if it counts as an error for the exit code.
    pub fn is_failure(&self) -> bool {
        self.is_rejected || self.severity == Severity::Error
    }

    /// What `--fix` writes.
    pub fn edit(&self) -> Option<&TextEdit> {
        match &self.fix {
            Fix::Write(edit) => Some(edit),
            Fix::None | Fix::Left { .. } => None,
        }
    }

    /// Leaves what could be fixed to the author.
    pub fn leave(&mut self, why: &str) {
        let untried = self.edit().cloned();
        if untried.is_some() {
            let why = why.to_owned();
            self.fix = Fix::Left { why, untried };
        }
    }

    /// The other objects that it depends on; `None` if there are none.
    pub fn see(&self) -> Option<String> {
        (!self.elsewhere.is_empty()).then(|| format!("see {}", first_few(&self.elsewhere, MOST_NAMED)))
    }

    /// The field and the object that it is about; `None` for a document that cannot be read.
    pub fn field_of_object(&self) -> Option<String> {
        match (&self.field, &self.object) {
            (Some(field), Some(object)) => Some(format!("{field} of {object}")),
            (Some(field), None) => Some(field.to_string()),
            (None, Some(object)) => Some(object.to_string()),
            (None, None) => None,
        }
    }

    /// All of it on one line but the rule: object, field, and the [message](Self::message).
    pub fn sentences(&self) -> String {
        let mut before = String::new();
        if let Some(object) = &self.object {
            let _ = write!(before, "{object}: ");
        }
        if let Some(field) = &self.field {
            let _ = write!(before, "{field}: ");
        }
        before + &self.message()
    }

    /// What is said beside its place: what is wrong, what to write instead, what follows, the file that it was rendered from
    /// and the other objects that it depends on.
    pub fn message(&self) -> String {
        let mut first = self.statement();
        if let Some(remark) = &self.remark {
            let _ = write!(first, " ({remark})");
        }
        let rendered = self
            .source
            .as_ref()
            .map(|source| format!("rendered from {source}"));
        let others = [&self.suggestion, &self.consequence, &rendered, &self.see()];
        diagnostic::sentences(first, others.map(|other| other.as_deref()))
    }
}

/// Lines that say where a certain suggestion was not written, and why.
pub fn left(name: &str, findings: &[Finding]) -> Vec<String> {
    let of = |finding: &Finding| match &finding.fix {
        Fix::Left { why, .. } => Some(format!("{name}:{}: not fixed: {why}", finding.place.start)),
        Fix::None | Fix::Write(_) => None,
    };
    findings.iter().filter_map(of).collect()
}
