//! The text of a file of poolgate's to what it holds, or to all its mistakes with their places.

use serde_json::Value;

use crate::api::API_VERSION;
use crate::diagnostic::{FieldPath, counted};
use crate::manifest::{self, Document, Limits, Lines, Position};
use crate::policy::record::{At, Found, Kind as _, Record, object};

/// The longest policy file, in bytes: the limit of a `ConfigMap` or a Secret.
pub const MAX_BYTES: usize = 1 << 20;

/// The kind of the document that says what the commands on files read.
pub const FILES: &str = "Files";

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

/// One document of a file.
pub struct File<'t> {
    pub value: Value,
    document: Document<'t>,
    lines: Lines<'t>,
    /// The mistakes in the text itself.
    mistakes: Vec<PolicyMistake>,
}

impl<'t> File<'t> {
    /// The documents of a file that are not empty. The mistakes of empty ones are those of the first.
    pub fn documents(text: &'t str) -> Vec<Self> {
        let limits = Limits {
            bytes: MAX_BYTES,
            documents: 100,
            ..Limits::default()
        };
        let mut documents = Vec::new();
        for document in manifest::parse(text, &limits) {
            let lines = Lines::new(text);
            let problems = document.problems().iter().map(|problem| PolicyMistake {
                position: lines.position(problem.span.start()),
                message: problem.to_string(),
            });
            let mistakes: Vec<_> = problems.collect();
            if !document.value().is_null() || !mistakes.is_empty() {
                documents.push(Self {
                    value: Value::from(document.value()),
                    document,
                    lines,
                    mistakes,
                });
            }
        }
        documents
    }

    /// Reads a file of this `kind`: exactly one document, which is called `what` in messages, with no field that the record
    /// does not have.
    pub fn read<T: Record>(text: &'t str, kind: &str, what: &str) -> Result<(T, Self), Mistakes> {
        let mut documents = Self::documents(text).into_iter();
        let file = documents.next().ok_or_else(|| none(kind, what))?;
        let mut mistakes = Vec::new();
        for mut another in documents {
            mistakes.append(&mut another.mistakes);
            mistakes.push(another.superfluous(what));
        }
        let record = file.record::<T>();
        match record {
            Ok(record) if mistakes.is_empty() => Ok((record, file)),
            Ok(_) => Err(mistakes.into()),
            Err(mut own) => {
                own.append(&mut mistakes);
                Err(own.into())
            }
        }
    }

    /// What the document says, if nothing is wrong with it.
    pub fn record<T: Record>(&self) -> Result<T, Vec<PolicyMistake>> {
        if self.document.unreadable().is_some() {
            return Err(self.mistakes.clone());
        }
        let mut found = Found::default();
        let record = object::<T>().read(&self.value, &FieldPath::root(), &mut found);
        let mistakes = self.all(found);
        record.filter(|_| mistakes.is_empty()).ok_or(mistakes)
    }

    /// Whether the document says that it is of this kind.
    pub fn is_of_kind(&self, kind: &str) -> bool {
        self.value.get("kind").and_then(Value::as_str) == Some(kind)
    }

    /// That the document is one too many in a file of one `what`.
    pub fn superfluous(&self, what: &str) -> PolicyMistake {
        if !self.is_of_kind(FILES) {
            return self.repeated(what);
        }
        self.at_beginning(format!(
            "kind: {FILES} is for the commands on files, which read it from .poolgate.yaml. This file must contain one {what} \
             alone"
        ))
    }

    /// That the document is a second `what`.
    pub fn repeated(&self, what: &str) -> PolicyMistake {
        self.at_beginning(format!(
            "a second document begins here, but a file contains one {what}. Put it into a separate file"
        ))
    }

    fn at_beginning(&self, message: String) -> PolicyMistake {
        PolicyMistake {
            position: self.lines.position(self.document.span().start()),
            message,
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

/// That a file has no document.
pub fn none(kind: &str, what: &str) -> Mistakes {
    let message =
        format!("the file contains no {what}. Begin it with apiVersion: {API_VERSION} and kind: {kind}");
    let position = Position { line: 1, column: 1 };
    vec![PolicyMistake { position, message }].into()
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
