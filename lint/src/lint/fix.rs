//! Fixes as changes to the text: only those that are certain; comments and layout stay.
//!
//! A changed text is parsed again before it is used: it must have the intended change, and everything else as
//! before.

use poolgate_core::diagnostic::{FieldPath, Segment};
use poolgate_core::json::Json;
use serde_json::Value;

use super::source_range;
use super::source_range::SourceRange;
use crate::written;
use poolgate_core::manifest::{self, Document, Form, Lines, Span};

mod entry;

/// What a fix does to one field of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The field gets a new name, a new value, or both.
    Rewrite {
        rename: Option<String>,
        write: Option<Value>,
    },
    /// The field goes.
    Remove,
    /// The entries of its value take its place.
    Unwrap,
}

impl Change {
    /// A change of the field's value.
    pub const fn write(value: Value) -> Self {
        Self::Rewrite {
            rename: None,
            write: Some(value),
        }
    }

    /// A change of the field's name; it keeps its value.
    pub fn rename(name: &str) -> Self {
        Self::Rewrite {
            rename: Some(name.to_owned()),
            write: None,
        }
    }

    /// Where the field is after the change; `None` if it is gone.
    pub fn field_after(&self, field: &FieldPath) -> Option<FieldPath> {
        match self {
            Self::Rewrite {
                rename: Some(name), ..
            } => Some(field.parent()?.key(name.clone())),
            Self::Rewrite { rename: None, .. } => Some(field.clone()),
            Self::Remove | Self::Unwrap => None,
        }
    }

    /// The field that an error rests on if the change causes it.
    pub fn changed(&self, field: &FieldPath) -> FieldPath {
        self.field_after(field).unwrap_or_else(|| field.clone())
    }

    /// Makes the change in the value that contains the field; `None` if that is not possible.
    pub fn make<'a>(&'a self, within: &mut Json<'a>, field: &FieldPath) -> Option<()> {
        if let Self::Rewrite {
            write: Some(value), ..
        } = self
        {
            *field.find_mut(within)? = value.into();
        }
        let rename = match self {
            Self::Rewrite { rename: None, .. } => return Some(()),
            Self::Rewrite { rename, .. } => rename.as_deref(),
            Self::Remove | Self::Unwrap => None,
        };
        let Some(Segment::Key(key)) = field.segments().last() else {
            return None;
        };
        let Json::Object(fields) = field.parent()?.find_mut(within)? else {
            return None;
        };
        match (self, rename) {
            (Self::Unwrap, _) => fields.unwrap_entry(key).then_some(()),
            (_, Some(name)) => fields.rename(key, name).then_some(()),
            _ => fields.remove(key).map(drop),
        }
    }
}

/// A piece of the text and what to write in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    pub place: SourceRange,
    pub text: String,
    /// Which document of the text.
    document: usize,
    /// The field that it changes, from the root of the document.
    field: FieldPath,
    change: Change,
}

/// Whether a finding at a field, which depends on these others, rests on a field that was changed. An error that does not
/// was hidden by the mistake before, and no fix causes it: while the operator of a requirement cannot be read, its values
/// are not checked.
pub fn rests_on(field: &FieldPath, others: &[FieldPath], changed: &[FieldPath]) -> bool {
    let is_below = |path: &FieldPath, above: &FieldPath| path.segments().starts_with(above.segments());
    let mut fields = others.iter().chain([field]);
    fields.any(|field| changed.iter().any(|changed| is_below(field, changed)))
}

impl TextEdit {
    /// The field that an error rests on if the edit causes it, from the root of the document.
    pub fn changed(&self) -> FieldPath {
        self.change.changed(&self.field)
    }

    /// The edit that makes a change at a field of a document, or why the text cannot be changed there. `number` is which
    /// document of the text it is.
    pub fn new(
        change: Change,
        field: FieldPath,
        (number, document): (usize, &Document<'_>),
        text: &str,
        lines: &Lines<'_>,
    ) -> Result<Self, &'static str> {
        let written = document.locate(&field).ok_or(UNUSUAL)?;
        let (rename, write) = match &change {
            Change::Rewrite { rename, write } => (rename.as_deref(), write.as_ref()),
            Change::Remove | Change::Unwrap => (None, None),
        };
        let alias = match (&change, write) {
            (Change::Unwrap, _) | (_, Some(_)) => written.alias,
            _ => written.key_alias,
        };
        if alias.is_some() {
            return Err("this value comes from an alias: change it where it is written");
        }
        let keeps_value = match (written.value_form, write) {
            (_, None) | (Form::Open, _) => true,
            (Form::Text, Some(new)) => new.is_string(),
            (Form::Fixed, Some(_)) => false,
        };
        if !keeps_value || (rename.is_some() && written.key_form == Form::Fixed) {
            return Err(UNUSUAL);
        }
        let replaced = match (&change, written.key) {
            (Change::Remove, Some(key)) => entry::removed(text, key, written.value),
            (Change::Unwrap, Some(key)) => entry::unwrapped(text, key, written.value),
            (Change::Remove | Change::Unwrap, None) => None,
            (Change::Rewrite { .. }, key) => rewritten(rename, write, key, written.value, text),
        };
        let (span, new) = replaced.ok_or(match change {
            Change::Rewrite { .. } => UNUSUAL,
            Change::Remove | Change::Unwrap => {
                "something else is on its lines, such as a comment: change it by hand"
            }
        })?;
        if manifest::has_variable(span.slice(text)) {
            return Err("another program fills in a variable here: change it where it is set");
        }
        if document.is_shared(span) {
            return Err("other fields use this value through aliases: change it by hand");
        }
        Ok(Self {
            place: source_range::located(span, lines),
            text: new,
            document: number,
            field,
            change,
        })
    }
}

/// Why a value in an unusual notation is left to the author.
const UNUSUAL: &str = "there is a tag or a block text here: change it by hand";

/// The span of the text that a new name or value replaces, and its new text.
fn rewritten(
    rename: Option<&str>,
    write: Option<&Value>,
    key: Option<Span>,
    value: Span,
    text: &str,
) -> Option<(Span, String)> {
    let new_value = |new: &Value| scalar(new, value.slice(text)).filter(|_| !value.is_empty());
    let new_key = |key: Span, name: &str| scalar(&Value::String(name.to_owned()), key.slice(text));
    match (rename, write) {
        (None, Some(new)) => Some((value, new_value(new)?)),
        (Some(name), None) => Some((key?, new_key(key?, name)?)),
        (Some(name), Some(new)) => {
            let between = text.get(key?.end()..value.start())?;
            let text = [&new_key(key?, name)?, between, &new_value(new)?].concat();
            Some((Span::new(key?.start(), value.end()), text))
        }
        (None, None) => None,
    }
}

/// A value in the notation of the old one.
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
        _ if is_word(text) && manifest::is_text(text) => Some(text.clone()),
        _ => Some(value.to_string()),
    }
}

/// The text with these edits, and their number; `None` if there is nothing to change. An edit is left out if the
/// text would not have the intended change with it.
pub fn apply<'e>(text: &str, edits: impl Iterator<Item = &'e TextEdit>) -> Option<(String, usize)> {
    let mut edits: Vec<&TextEdit> = edits.collect();
    edits.sort_by_key(|edit| edit.place.span);
    edits.dedup_by(|next, edit| next.place.span.start() < edit.place.span.end());
    let all =
        |edits: &[&TextEdit]| with(text, edits).filter(|changed| says_what_is_meant(text, changed, edits));
    let mut changed = all(&edits);
    if changed.is_none() {
        edits.truncate(MOST_TRIED);
        edits.retain(|edit| all(&[edit]).is_some());
        changed = all(&edits);
    }
    (!edits.is_empty()).then_some((changed?, edits.len()))
}

/// Most edits that are tried one by one, if the text with all of them would not have the intended changes.
const MOST_TRIED: usize = 100;

fn with(text: &str, edits: &[&TextEdit]) -> Option<String> {
    let mut changed = String::with_capacity(text.len() + edits.len() * 8);
    let mut at = 0;
    for edit in edits {
        changed.push_str(text.get(at..edit.place.span.start())?);
        changed.push_str(&edit.text);
        at = edit.place.span.end();
    }
    changed.push_str(text.get(at..)?);
    Some(changed)
}

fn says_what_is_meant(text: &str, changed: &str, edits: &[&TextEdit]) -> bool {
    written::is_as_meant(text, changed, |number, before, after| {
        let mut meant = before.clone();
        let mut here = edits.iter().filter(|edit| edit.document == number);
        here.all(|edit| edit.change.make(&mut meant, &edit.field).is_some()) && *after == meant
    })
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
    }
}
