//! The text of a file of poolgate's to what it holds, or to all its mistakes with their places.

use serde_json::Value;

use crate::api::API_VERSION;
use crate::diagnostic::{FieldPath, counted};
use crate::manifest::{self, Document, Limits, Lines, Position};
use crate::policy::record::{At, Found, Kind as _, Record, object};

/// The longest policy file, in bytes: the limit of a `ConfigMap` or a Secret.
pub const MAX_BYTES: usize = 1 << 20;

/// How many mistakes of one file are shown.
const MAX_SHOWN: usize = 100;

/// One thing to fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{position}: {message}")]
pub struct PolicyMistake {
    /// The line and column of the key or value at fault.
    pub position: Position,
    /// What is wrong and, in a second sentence, how to fix it if that is known. One line without its last full stop.
    pub message: String,
}

/// All that is wrong with a file, in its order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} in the policy", counted(self.shown.len() + self.omitted, "mistake"))]
pub struct Mistakes {
    /// The mistakes; if there are very many, the first ones.
    pub shown: Vec<PolicyMistake>,
    /// How many there are beyond these.
    pub omitted: usize,
}

/// A file whose only document is a record.
pub struct File<'t> {
    pub value: Value,
    document: Document<'t>,
    lines: Lines<'t>,
    /// The mistakes in the text itself.
    mistakes: Vec<PolicyMistake>,
}

impl<'t> File<'t> {
    /// Reads a file of this `kind`: exactly one document, which is called `what` in messages, with no field that the record
    /// does not have.
    pub fn read<T: Record>(text: &'t str, kind: &str, what: &str) -> Result<(T, Self), Mistakes> {
        let limits = Limits {
            bytes: MAX_BYTES,
            documents: 100,
            ..Limits::default()
        };
        let lines = Lines::new(text);
        let mut mistakes = Vec::new();
        let mut documents = Vec::new();
        for document in manifest::parse(text, &limits) {
            mistakes.extend(document.problems().iter().map(|problem| PolicyMistake {
                position: lines.position(problem.span.start()),
                message: problem.to_string(),
            }));
            if !document.value().is_null() || !document.problems().is_empty() {
                documents.push(document);
            }
        }
        let mut documents = documents.into_iter();
        let Some(document) = documents.next() else {
            let message = format!(
                "the file contains no {what}. Begin it with apiVersion: {API_VERSION} and kind: {kind}"
            );
            let position = Position { line: 1, column: 1 };
            return Err(vec![PolicyMistake { position, message }].into());
        };
        mistakes.extend(documents.map(|another| PolicyMistake {
            position: lines.position(another.span().start()),
            message: format!(
                "a second document begins here, but a file contains one {what}. Put it into a separate file"
            ),
        }));
        if document.unreadable().is_some() {
            return Err(mistakes.into());
        }
        let file = Self {
            value: Value::from(document.value()),
            document,
            lines,
            mistakes,
        };
        let mut found = Found::default();
        let record = object::<T>().read(&file.value, &FieldPath::root(), &mut found);
        match record {
            Some(record) if found.0.is_empty() => Ok((record, file)),
            _ => Err(file.all(found).into()),
        }
    }

    /// True if nothing is wrong with the text, and nothing was found in what it says.
    pub fn none_wrong(&self, found: Found) -> Result<(), Mistakes> {
        let mistakes = self.all(found);
        if mistakes.is_empty() {
            Ok(())
        } else {
            Err(mistakes.into())
        }
    }

    fn all(&self, found: Found) -> Vec<PolicyMistake> {
        let mut mistakes = self.mistakes.clone();
        mistakes.extend(self.located(found));
        mistakes
    }

    /// The mistakes with their positions. A missing field has the position where it should be.
    pub fn located(&self, found: Found) -> Vec<PolicyMistake> {
        let located = found.0.into_iter().map(|(path, at, message)| PolicyMistake {
            position: self.position(&path, at),
            message,
        });
        located.collect()
    }

    pub fn position(&self, path: &FieldPath, at: At) -> Position {
        let document = &self.document;
        let mut span = match at {
            At::Key => document.key_span_of(path).or_else(|| document.span_of(path)),
            At::Value => document.span_of(path),
        };
        let mut above = path.parent();
        while let (None, Some(path)) = (span, &above) {
            span = document.key_span_of(path).or_else(|| document.span_of(path));
            above = path.parent();
        }
        self.lines.position(span.map_or(0, manifest::Span::start))
    }
}

impl From<Vec<PolicyMistake>> for Mistakes {
    fn from(mut mistakes: Vec<PolicyMistake>) -> Self {
        mistakes.sort_by_key(|mistake| mistake.position);
        let omitted = mistakes.len().saturating_sub(MAX_SHOWN);
        mistakes.truncate(MAX_SHOWN);
        Self {
            shown: mistakes,
            omitted,
        }
    }
}
