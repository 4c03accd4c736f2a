//! The findings of a review, as far as their wording depends on the text.

use poolgate_core::diagnostic::{Diagnostic, Edit, ErrorType, FieldPath, Segment, Severity, Suggestion};
use poolgate_core::json::Json;
use poolgate_core::manifest::Document;
use poolgate_core::rules;
use serde_json::Value;

use crate::edit::Change;

/// What to write instead. For a value that must be quoted, its text as the author wrote it.
pub fn suggestion(diagnostic: &Diagnostic, written: impl FnOnce() -> Option<String>) -> Option<String> {
    let suggestion = diagnostic.suggestion.as_ref()?;
    let written = (suggestion.edit == Some(Edit::Quote)).then(written).flatten();
    Some(written.map_or_else(
        || suggestion.text.clone(),
        |written| Suggestion::quote(&written).text,
    ))
}

/// The suggestion as a change; `None` if there is none, or if the text is ambiguous: to YAML the limit `012` is ten, to its
/// author perhaps twelve.
pub fn change(
    diagnostic: &Diagnostic,
    object: &Json<'_>,
    written: impl Fn(&FieldPath) -> Option<String>,
) -> Option<Change> {
    let path = &diagnostic.path;
    match diagnostic.suggestion.as_ref()?.edit.as_ref()? {
        Edit::Rename(name) => Some(Change::rename(name)),
        Edit::Remove => Some(Change::Remove),
        Edit::Unwrap => Some(Change::Unwrap),
        Edit::Quote => Some(Change::write(Value::String(written(path)?))),
        Edit::Set(value) => {
            let is_text = path.find(object)?.as_str().is_some() || !value.is_string();
            (is_text || written(path).as_deref() == value.as_str()).then(|| Change::write(value.clone()))
        }
    }
}

/// Whether Karpenter rejects the object for it: also if a policy has lowered the error.
pub fn is_rejected(diagnostic: &Diagnostic) -> bool {
    let rule = || rules::find(diagnostic.rule.as_str());
    let was_error = || rule().is_some_and(|rule| rule.severity == Some(Severity::Error));
    diagnostic.origin.is_karpenters() && (diagnostic.severity == Severity::Error || was_error())
}

/// The text of a number or boolean as it is in the file; `None` if a tag or an anchor is before it.
pub fn as_written(text: &str, document: &Document<'_>, field: &FieldPath) -> Option<String> {
    let written = document.locate(field)?.value.slice(text);
    (!written.is_empty() && !written.starts_with(['!', '&'])).then(|| written.to_owned())
}

/// Whether a finding makes sense only for a complete object, not for a patch: a field that is missing, or one that
/// is an instruction to kustomize.
pub fn is_about_the_whole(diagnostic: &Diagnostic) -> bool {
    let last = diagnostic.path.segments().last();
    let is_directive = matches!(last, Some(Segment::Key(key)) if key.starts_with('$'));
    match diagnostic.error_type {
        ErrorType::Required => true,
        ErrorType::Unknown => is_directive,
        _ => false,
    }
}
