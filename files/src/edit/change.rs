//! A change of one field, in the value and in the text.

use poolgate_core::diagnostic::{FieldPath, Segment};
use poolgate_core::json::Json;
use serde_json::Value;

use poolgate_core::manifest::{self, Document, Form, Lines, Span};

use super::{SourceRange, located, mapping, yaml};

/// A change of one field of an object.
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

/// A change of a field with what makes it in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    /// The text that is replaced.
    pub place: SourceRange,
    /// What takes its place.
    pub text: String,
    /// Which document of the text.
    pub document: usize,
    /// The field that it changes, from the root of the document.
    pub field: FieldPath,
    pub change: Change,
}

impl TextEdit {
    /// The field that an error rests on if the edit causes it, from the root of the document.
    pub fn changed(&self) -> FieldPath {
        self.change.changed(&self.field)
    }

    /// The edit that writes a value in the place of the alias that brings it: good for a trial, and nothing to write. Every
    /// other field with that alias has its value from elsewhere.
    pub fn of_alias(
        change: Change,
        field: FieldPath,
        (number, document): (usize, &Document<'_>),
        lines: &Lines<'_>,
    ) -> Option<Self> {
        let Change::Rewrite {
            rename: None,
            write: Some(value),
        } = &change
        else {
            return None;
        };
        let alias = document.locate(&field)?.alias?;
        Some(Self {
            place: located(alias, lines),
            text: yaml::flow(value),
            document: number,
            field,
            change,
        })
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
            return Err("the value comes from an alias. Change it where it is defined");
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
            (Change::Remove, Some(key)) => mapping::removed(text, key, written.value),
            (Change::Unwrap, Some(key)) => mapping::unwrapped(text, key, written.value),
            (Change::Remove | Change::Unwrap, None) => None,
            (Change::Rewrite { .. }, key) => rewritten(rename, write, key, written.value, text),
        };
        let (span, new) = replaced.ok_or(match change {
            Change::Rewrite { .. } => UNUSUAL,
            Change::Remove | Change::Unwrap => {
                "something else is on its lines, such as a comment. Change it by hand"
            }
        })?;
        if manifest::has_variable(span.slice(text)) {
            return Err("another program fills in a variable here. Change it where it is set");
        }
        if document.is_shared(span) {
            return Err("other fields use this value through aliases. Change it by hand");
        }
        Ok(Self {
            place: located(span, lines),
            text: new,
            document: number,
            field,
            change,
        })
    }
}

/// Why a value in an unusual notation is left to the author.
const UNUSUAL: &str = "a tag or a block scalar is here. Change it by hand";

/// The span of the text that a new name or value replaces, and its new text.
fn rewritten(
    rename: Option<&str>,
    write: Option<&Value>,
    key: Option<Span>,
    value: Span,
    text: &str,
) -> Option<(Span, String)> {
    let new_value = |new: &Value| {
        let is_scalar = !(value.is_empty() || new.is_array() || new.is_object());
        is_scalar.then(|| yaml::in_quotes_of(value.slice(text), new))
    };
    let new_key = |key: Span, name: &str| yaml::in_quotes_of(key.slice(text), &name.into());
    match (rename, write) {
        (None, Some(new)) => Some((value, new_value(new)?)),
        (Some(name), None) => Some((key?, new_key(key?, name))),
        (Some(name), Some(new)) => {
            let between = text.get(key?.end()..value.start())?;
            let text = [&new_key(key?, name), between, &new_value(new)?].concat();
            Some((Span::new(key?.start(), value.end()), text))
        }
        (None, None) => None,
    }
}
