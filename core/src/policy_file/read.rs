//! The text of a policy file to a policy, or to all its mistakes.

use crate::diagnostic::FieldPath;
use crate::policy::Policy;
use serde_json::Value;

use super::check::check;
use super::consistency;
use super::decode::decode;
use super::fields::POLICY;
use super::mistakes::{Found, Mistake, Mistakes};
use crate::manifest::{self, Document, Limits, Lines, Position};

/// The longest policy file, in bytes: the limit of a `ConfigMap` or a Secret.
pub const MAX_BYTES: usize = 1 << 20;

/// What a policy file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadPolicy {
    /// The policy that the file describes.
    pub policy: Policy,
    /// The fields without effect, in their order; each on one line.
    pub notes: Vec<Mistake>,
    /// The fields under `defaults` that the file sets.
    pub defaults_set: Vec<&'static str>,
}

/// Reads a policy file: exactly one document, with no field that poolgate does not know.
pub fn parse(text: &str) -> Result<ReadPolicy, Mistakes> {
    let limits = Limits {
        bytes: MAX_BYTES,
        documents: 100,
        ..Limits::default()
    };
    let lines = Lines::new(text);
    let mut mistakes = Vec::new();
    let mut policies = Vec::new();
    for document in manifest::parse(text, &limits) {
        mistakes.extend(document.problems().iter().map(|problem| Mistake {
            position: lines.position(problem.span.start()),
            message: problem.to_string(),
        }));
        if !document.value().is_null() || !document.problems().is_empty() {
            policies.push(document);
        }
    }
    let mut policies = policies.into_iter();
    let Some(document) = policies.next() else {
        return Err(vec![nothing_there()].into());
    };
    mistakes.extend(policies.map(|another| {
        Mistake {
            position: lines.position(another.span().start()),
            message:
                "a second document begins here; a file contains one policy, so put it into a file of its own"
                    .into(),
        }
    }));
    if document.unreadable().is_some() {
        return Err(mistakes.into());
    }
    read_document(&document, &lines, mistakes)
}

fn read_document(
    document: &Document<'_>,
    lines: &Lines<'_>,
    mut mistakes: Vec<Mistake>,
) -> Result<ReadPolicy, Mistakes> {
    let value = &Value::from(document.value());
    let mut found = Found::default();
    check(value, &POLICY, &FieldPath::root(), &mut found);
    if !found.is_empty() {
        mistakes.extend(found.located(document, lines));
        return Err(mistakes.into());
    }
    let mut notes = Found::default();
    let policy = decode(value, &mut notes);
    consistency::check(value, &policy, &mut found);
    mistakes.extend(found.located(document, lines));
    if !mistakes.is_empty() {
        return Err(mistakes.into());
    }
    Ok(ReadPolicy {
        policy,
        notes: Mistakes::from(notes.located(document, lines)).shown,
        defaults_set: consistency::defaults_set(value),
    })
}

fn nothing_there() -> Mistake {
    Mistake {
        position: Position { line: 1, column: 1 },
        message:
            "the file contains no policy; begin it with apiVersion: poolgate.dev/v1alpha1 and kind: Policy"
                .into(),
    }
}
