//! What is wrong with a policy file, and where.

use crate::diagnostic::{FieldPath, counted};
use crate::manifest::{Document, Lines, Position};

/// How many mistakes of one file are shown. Nobody reads more.
const MAX_SHOWN: usize = 100;

/// One thing to fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{position}: {message}")]
pub struct Mistake {
    /// The line and column of the key or value at fault.
    pub position: Position,
    /// What is wrong and, behind a semicolon, how to fix it if that is known. One line.
    pub message: String,
}

/// All that is wrong with a file, in its order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} in the policy", counted(self.shown.len() + self.omitted, "mistake"))]
pub struct Mistakes {
    /// The mistakes; if there are very many, the first ones.
    pub shown: Vec<Mistake>,
    /// How many there are beyond these.
    pub omitted: usize,
}

/// What to point at for a mistake in a field.
#[derive(Debug, Clone, Copy)]
pub enum At {
    /// The key of the field.
    Key,
    /// The value of the field.
    Value,
}

/// Mistakes while they are found.
#[derive(Debug, Default)]
pub struct Found(Vec<(FieldPath, At, String)>);

impl Found {
    /// Adds a mistake: what is wrong, and how to fix it if that is known.
    pub fn push(&mut self, path: &FieldPath, at: At, wrong: &str, suggestion: Option<&str>) {
        let message = match suggestion {
            Some(suggestion) => format!("{wrong}; {suggestion}"),
            None => wrong.to_owned(),
        };
        self.0.push((path.clone(), at, message));
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The mistakes with their positions. A missing field has the position where it should be.
    pub fn located(self, document: &Document<'_>, lines: &Lines<'_>) -> Vec<Mistake> {
        let located = self.0.into_iter().map(|(path, at, message)| Mistake {
            position: lines.position(start(document, &path, at)),
            message,
        });
        located.collect()
    }
}

fn start(document: &Document<'_>, path: &FieldPath, at: At) -> usize {
    let mut span = match at {
        At::Key => document.key_span_of(path).or_else(|| document.span_of(path)),
        At::Value => document.span_of(path),
    };
    let mut above = path.parent();
    while let (None, Some(path)) = (span, &above) {
        span = document.key_span_of(path).or_else(|| document.span_of(path));
        above = path.parent();
    }
    span.map_or(0, crate::manifest::Span::start)
}

impl From<Vec<Mistake>> for Mistakes {
    fn from(mut mistakes: Vec<Mistake>) -> Self {
        mistakes.sort_by_key(|mistake| mistake.position);
        let omitted = mistakes.len().saturating_sub(MAX_SHOWN);
        mistakes.truncate(MAX_SHOWN);
        Self {
            shown: mistakes,
            omitted,
        }
    }
}
