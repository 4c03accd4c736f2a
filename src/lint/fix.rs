//! Fixes as changes to the text: certain ones only, with comments and layout as they are.
//!
//! A changed text is read again before it counts: it has to say what the change was meant to say, and all else as
//! before.

use poolgate_core::diagnostic::{FieldPath, Fix, Segment};
use serde_json::Value;

use super::finding::{Finding, SourceRange};
use super::source_range;
use crate::manifest::{self, Document, Limits, Lines};

/// A piece of the text and what to write in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) place: SourceRange,
    pub(super) text: String,
    /// Which document of the text.
    document: usize,
    /// What is changed in it.
    field: FieldPath,
    fix: Fix,
}

impl Edit {
    /// The change to the text that `fix` is at a field; none where the text cannot be changed there alone.
    pub(super) fn of(
        fix: &Fix,
        field: &FieldPath,
        document: &Document<'_>,
        number: usize,
        text: &str,
        lines: &Lines<'_>,
    ) -> Option<Self> {
        let written = document.locate(field)?;
        if written.alias.is_some() {
            return None;
        }
        let (span, new) = match fix {
            Fix::Write(value) => (written.value, scalar(value, written.value.of(text))?),
            Fix::Rename(name) => {
                let key = written.key?;
                (key, scalar(&Value::String(name.clone()), key.of(text))?)
            }
        };
        (!span.is_empty()).then(|| Self {
            place: source_range::located(span, lines),
            text: new,
            document: number,
            field: field.clone(),
            fix: fix.clone(),
        })
    }
}

/// A value in the notation of the one that it replaces.
fn scalar(value: &Value, old: &str) -> Option<String> {
    let Value::String(text) = value else {
        return (!value.is_array() && !value.is_object()).then(|| value.to_string());
    };
    let is_word = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte))
    };
    match old.bytes().next()? {
        b'\'' if !text.contains('\'') => Some(format!("'{text}'")),
        b'"' | b'\'' => Some(value.to_string()),
        // A block scalar, an anchor or a tag is more than its text.
        b'|' | b'>' | b'&' | b'!' => None,
        _ if is_word(text) && manifest::is_text(text) => Some(text.clone()),
        _ => Some(value.to_string()),
    }
}

/// The text with the edits of these findings, and how many they are; none where there is nothing to change, and where
/// the changed text would not say what is meant.
pub(super) fn apply(text: &str, findings: &[Finding]) -> Option<(String, usize)> {
    let mut edits: Vec<&Edit> = findings
        .iter()
        .filter_map(|finding| finding.edit.as_ref())
        .collect();
    edits.sort_by_key(|edit| edit.place.span);
    edits.dedup_by_key(|edit| edit.place.span);
    let mut changed = String::with_capacity(text.len() + edits.len() * 8);
    let mut at = 0;
    for edit in &edits {
        changed.push_str(text.get(at..edit.place.span.start())?);
        changed.push_str(&edit.text);
        at = edit.place.span.end();
    }
    changed.push_str(text.get(at..)?);
    (!edits.is_empty() && says_what_is_meant(text, &changed, &edits)).then_some((changed, edits.len()))
}

fn says_what_is_meant(text: &str, changed: &str, edits: &[&Edit]) -> bool {
    let limits = Limits::default();
    let mut after = manifest::parse(changed, &limits);
    for (number, before) in manifest::parse(text, &limits).enumerate() {
        let Some(after) = after.next() else { return false };
        let problems = (before.problems().len(), after.problems().len());
        let mut meant = before.into_value();
        for edit in edits.iter().filter(|edit| edit.document == number) {
            if put(&mut meant, edit).is_none() {
                return false;
            }
        }
        if problems.1 > problems.0 || *after.value() != meant {
            return false;
        }
    }
    after.next().is_none()
}

/// Makes the change in the value that the text stands for.
fn put(document: &mut Value, edit: &Edit) -> Option<()> {
    match &edit.fix {
        Fix::Write(value) => *document.pointer_mut(&edit.field.to_pointer())? = value.clone(),
        Fix::Rename(name) => {
            let parent = document
                .pointer_mut(&edit.field.parent()?.to_pointer())?
                .as_object_mut()?;
            let Some(Segment::Key(old)) = edit.field.segments().last() else {
                return None;
            };
            if parent.contains_key(name) {
                return None;
            }
            let value = parent.remove(old.as_ref())?;
            parent.insert(name.clone(), value);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_written_as_the_old_one_was() {
        let text = |text: &str| Value::String(text.into());
        assert_eq!(scalar(&text("24h"), "1d").as_deref(), Some("24h"));
        assert_eq!(scalar(&text("24h"), "'1d'").as_deref(), Some("'24h'"));
        assert_eq!(scalar(&text("24h"), "\"1d\"").as_deref(), Some("\"24h\""));
        assert_eq!(
            scalar(&text("5"), "5").as_deref(),
            Some("\"5\""),
            "or it is a number again"
        );
        assert_eq!(
            scalar(&text("0 9 * * 0"), "0 9 * * 7").as_deref(),
            Some("\"0 9 * * 0\"")
        );
        assert_eq!(scalar(&json!(7), "\"7\"").as_deref(), Some("7"));
        assert_eq!(scalar(&text("x"), "|\n  y"), None);
    }
}
