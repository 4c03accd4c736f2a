//! A message about a text that no rule of the catalogue has.

use poolgate_core::diagnostic::FieldPath;
use poolgate_core::manifest::Span;

/// The title of a finding, what to write instead, and its place. Its severity is that of the rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Note {
    pub rule: &'static str,
    pub place: Place,
    pub message: String,
    pub suggestion: String,
}

/// What a note is about.
#[derive(Debug, PartialEq, Eq)]
pub enum Place {
    /// A field, from the root of the document.
    Field(FieldPath),
    /// A comment for poolgate, a part of it, or other text.
    Text(Span),
}

#[cfg(test)]
impl Note {
    pub fn field(&self) -> String {
        match &self.place {
            Place::Field(field) => field.to_string(),
            Place::Text(_) => String::new(),
        }
    }
}
