//! The findings of a review, as far as their wording depends on the text.

use poolgate_core::diagnostic::{Diagnostic, Edit, ErrorType, FieldPath, Segment, Severity, Suggestion};

use super::review_fixes::Verdict;
use poolgate_core::manifest::Document;

/// What to write instead. For a value that must be quoted, its text as the author wrote it; if that would be denied
/// too, the reason.
pub fn suggestion(
    diagnostic: &Diagnostic,
    verdict: Option<&Verdict>,
    written: impl FnOnce() -> Option<String>,
) -> Option<String> {
    let suggestion = diagnostic.help.as_ref()?;
    if suggestion.edit != Some(Edit::Quote) {
        return Some(suggestion.text.clone());
    }
    Some(match verdict {
        Some(Verdict::Fails(trouble)) => {
            let mut text = format!("in quotes it is denied as well: {}", trouble.title);
            if let Some(better) = &trouble.help {
                text.push_str("; ");
                text.push_str(&better.text);
            }
            text
        }
        _ => written().map_or_else(
            || suggestion.text.clone(),
            |written| Suggestion::quote(&written).text,
        ),
    })
}

/// Whether a policy has lowered an error for which Karpenter rejects the object.
pub fn is_lowered(diagnostic: &Diagnostic) -> bool {
    diagnostic.origin.is_karpenters()
        && diagnostic.severity < Severity::Error
        && diagnostic.own_severity == Severity::Error
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
