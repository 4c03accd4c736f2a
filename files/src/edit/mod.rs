//! Changes to the text of a manifest: comments and layout stay, and what is written is quoted by one rule. A changed text
//! is read again as kubectl reads it before anything is done with it.
//!
//! Does not depend on rules or NodePools.

mod change;
mod mapping;
mod replace;
mod source_range;
mod utf16;
pub(crate) mod yaml;

use poolgate_core::json::Json;
use poolgate_core::manifest::{self, Document, Limits, Span, Variables};

pub(crate) use change::{Change, TextEdit};
pub(crate) use mapping::{behind_key, in_place_of, into_mapping, node_at};
pub(crate) use replace::diff;
pub use replace::replace;
pub(crate) use source_range::{SourceRange, located, span_at, within};
pub(crate) use utf16::Positions;

/// A piece of a text, and what takes its place. An empty piece is where something is inserted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Replacement {
    pub(crate) span: Span,
    pub(crate) text: String,
}

/// The text with all of these made, which follow each other and do not overlap.
pub(crate) fn apply<'r>(text: &str, replacements: impl IntoIterator<Item = (Span, &'r str)>) -> String {
    let mut changed = String::with_capacity(text.len());
    let mut copied = 0;
    for (span, new) in replacements {
        changed += text.get(copied..span.start()).unwrap_or_default();
        changed += new;
        copied = span.end();
    }
    changed + text.get(copied..).unwrap_or_default()
}

/// The values of the documents of a text.
#[cfg(test)]
pub(crate) fn values(text: &str) -> impl Iterator<Item = serde_json::Value> {
    manifest::parse(text, &Limits::default()).map(Document::into_value)
}

/// Whether a changed text has as many documents as before, none with more problems, and each with the value that is
/// meant: `is_meant` gets its value before and after, with these variables.
pub(crate) fn is_as_meant(
    before: &str,
    after: &str,
    variables: &Variables,
    is_meant: impl Fn(&Json<'_>, &Json<'_>) -> bool,
) -> bool {
    let limits = Limits::default();
    let mut after = manifest::parse_with(after, &limits, variables);
    let is_right = |before: &Document<'_>, after: &Document<'_>| {
        after.problems().len() <= before.problems().len() && is_meant(before.value(), after.value())
    };
    let mut before = manifest::parse_with(before, &limits, variables);
    before.all(|before| after.next().is_some_and(|after| is_right(&before, &after))) && after.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_means_the_same_only_with_the_same_documents_and_no_new_problem() {
        let variables = Variables::default();
        let is_same =
            |before: &str, after: &str| is_as_meant(before, after, &variables, |old, new| old == new);
        assert!(is_same("a: 1\n---\nb: 2\n", "{a: 1} # same\n---\n{\"b\": 2}\n"));
        for after in ["a: 2\n", "a: \"1\"\n", "a: 1\n---\nb: 2\n", "a: 3\na: 1\n", ""] {
            assert!(!is_same("a: 1\n", after), "{after}");
        }
    }
}
