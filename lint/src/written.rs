//! What a text means when it is read again as kubectl reads it, before anything is done with it.

use poolgate_core::json::Json;
use poolgate_core::manifest::{self, Document, Limits};
use serde_json::Value;

/// The values of the documents of a text.
pub fn values(text: &str) -> impl Iterator<Item = Value> {
    manifest::parse(text, &Limits::default()).map(Document::into_value)
}

/// Whether a changed text has as many documents as before, none with more problems, and each with the value that is
/// meant: `is_meant` gets the number of a document, and its value before and after.
pub fn is_as_meant(
    before: &str,
    after: &str,
    is_meant: impl Fn(usize, &Json<'_>, &Json<'_>) -> bool,
) -> bool {
    let limits = Limits::default();
    let mut after = manifest::parse(after, &limits);
    manifest::parse(before, &limits)
        .enumerate()
        .all(|(number, before)| {
            after.next().is_some_and(|after| {
                after.problems().len() <= before.problems().len()
                    && is_meant(number, before.value(), after.value())
            })
        })
        && after.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_means_the_same_only_with_the_same_documents_and_no_new_problem() {
        let is_same = |before: &str, after: &str| is_as_meant(before, after, |_, old, new| old == new);
        assert!(is_same("a: 1\n---\nb: 2\n", "{a: 1} # same\n---\n{\"b\": 2}\n"));
        for after in ["a: 2\n", "a: \"1\"\n", "a: 1\n---\nb: 2\n", "a: 3\na: 1\n", ""] {
            assert!(!is_same("a: 1\n", after), "{after}");
        }
    }
}
