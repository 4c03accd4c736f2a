//! Variables that were not filled in, and what cannot be checked because of them.

use poolgate_core::diagnostic::{Diagnostic, ErrorType, FieldPath, Segment, quoted};
use poolgate_core::json::Json;

use super::note::{Note, Place};
use crate::text_rules;
use poolgate_core::manifest::{Document, any_text, has_variable, variables_in};

/// How many variables a note names.
const NAMED: usize = 3;

/// The note on variables that are left in a document; `None` if there are none.
pub fn note(document: &Document<'_>, text: &str) -> Option<Note> {
    let first = document.variables().first()?;
    let places = document.variables().iter();
    let mut names: Vec<&str> = places.flat_map(|span| variables_in(span.slice(text))).collect();
    names.sort_unstable();
    names.dedup();
    let first_ones: Vec<String> = names.iter().take(NAMED).map(|name| quoted(name)).collect();
    let others = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    Some(Note {
        rule: text_rules::VARIABLE,
        place: Place::Field(document.path_at(first.start())),
        message: format!(
            "another program fills in variables here, and what depends on them is not checked: {}{others}",
            first_ones.join(", ")
        ),
        suggestion: "give their values with --envsubst FILE".into(),
    })
}

/// Whether a finding depends on a variable that is left in the object: at its field, below it, or beside it.
pub fn decide(diagnostic: &Diagnostic, object: &Json<'_>) -> bool {
    let in_path = |path: &FieldPath| {
        let mut segments = path.segments().iter();
        segments.any(|segment| matches!(segment, Segment::Key(key) if has_variable(key)))
    };
    // An unknown field is unknown whatever its value is.
    let is_about_value = diagnostic.error_type != ErrorType::Unknown;
    let below = |path: &FieldPath| {
        let value = path.find(object).filter(|_| is_about_value);
        value.is_some_and(|value| any_text(value, &has_variable))
    };
    let mut paths = std::iter::once(&diagnostic.path).chain(&diagnostic.related);
    paths.any(|path| in_path(path) || below(path))
}
