//! The text of a policy file to a policy, or to all its mistakes.

use crate::diagnostic::FieldPath;
use crate::policy::Policy;
use serde_json::Value;

use super::check::check;
use super::consistency;
use super::decode::decode;
use super::fields::{FieldType, POLICY};
use super::mistakes::{Found, Mistake, Mistakes};
use crate::manifest::{self, Document, Limits, Lines, Position};

/// The longest policy file, in bytes: the limit of a `ConfigMap` or a Secret.
pub const MAX_BYTES: usize = 1 << 20;

/// What a policy file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadPolicy {
    /// The policy that the file describes.
    pub policy: Policy,
    /// What to know of fields that are read otherwise than they say, in their order; each on one line.
    pub notes: Vec<Mistake>,
    /// The fields under `defaults` that the file sets.
    pub defaults_set: Vec<&'static str>,
}

/// Reads a policy file: exactly one document, with no field that poolgate does not know.
pub fn parse(text: &str) -> Result<ReadPolicy, Mistakes> {
    let checked = CheckedFile::read(text, &POLICY, "policy")?;
    let value = &checked.value;
    let (mut notes, mut found) = (Found::default(), Found::default());
    let policy = decode(value, &mut notes);
    consistency::check(value, &policy, &mut found);
    checked.none_wrong(found)?;
    Ok(ReadPolicy {
        policy,
        notes: Mistakes::from(notes.located(&checked.document, &checked.lines)).shown,
        defaults_set: consistency::defaults_set(value),
    })
}

/// A file whose only document the table allows.
pub struct CheckedFile<'t> {
    pub value: Value,
    pub document: Document<'t>,
    pub lines: Lines<'t>,
    /// What is wrong with the text all the same.
    mistakes: Vec<Mistake>,
}

impl<'t> CheckedFile<'t> {
    /// Reads a file of this shape: exactly one document, which is called `what` in messages.
    pub fn read(text: &'t str, shape: &'static FieldType, what: &str) -> Result<Self, Mistakes> {
        let limits = Limits {
            bytes: MAX_BYTES,
            documents: 100,
            ..Limits::default()
        };
        let lines = Lines::new(text);
        let mut mistakes = Vec::new();
        let mut documents = Vec::new();
        for document in manifest::parse(text, &limits) {
            mistakes.extend(document.problems().iter().map(|problem| Mistake {
                position: lines.position(problem.span.start()),
                message: problem.to_string(),
            }));
            if !document.value().is_null() || !document.problems().is_empty() {
                documents.push(document);
            }
        }
        let mut documents = documents.into_iter();
        let Some(document) = documents.next() else {
            return Err(vec![nothing_there(shape, what)].into());
        };
        mistakes.extend(documents.map(|another| Mistake {
            position: lines.position(another.span().start()),
            message: format!(
                "a second document begins here; a file contains one {what}, so put it into a file of its own"
            ),
        }));
        if document.unreadable().is_some() {
            return Err(mistakes.into());
        }
        let value = Value::from(document.value());
        let mut found = Found::default();
        check(&value, shape, &FieldPath::root(), &mut found);
        if !found.is_empty() {
            mistakes.extend(found.located(&document, &lines));
            return Err(mistakes.into());
        }
        Ok(Self {
            value,
            document,
            lines,
            mistakes,
        })
    }

    /// Whether nothing is wrong with the text, and nothing was found by reading it.
    pub fn none_wrong(&self, found: Found) -> Result<(), Mistakes> {
        let mut mistakes = self.mistakes.clone();
        mistakes.extend(found.located(&self.document, &self.lines));
        if mistakes.is_empty() {
            Ok(())
        } else {
            Err(mistakes.into())
        }
    }
}

fn nothing_there(shape: &FieldType, what: &str) -> Mistake {
    let kind = match shape {
        FieldType::Object(fields) => fields.iter().find(|field| field.name == "kind"),
        _ => None,
    };
    let kind = match kind.map(|field| &field.shape) {
        Some(FieldType::Word([kind])) => kind,
        _ => what,
    };
    Mistake {
        position: Position { line: 1, column: 1 },
        message: format!(
            "the file contains no {what}; begin it with apiVersion: poolgate.dev/v1alpha1 and kind: {kind}"
        ),
    }
}
