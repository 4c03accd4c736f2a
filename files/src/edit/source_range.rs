//! The range of the text to show for a finding about a field.

use poolgate_core::diagnostic::{ErrorType, FieldPath, Segment, quoted};
use poolgate_core::json::Json;

use poolgate_core::manifest::{Document, Lines, Position, Span};

/// A range of the text, as bytes and as editors count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceRange {
    /// The range in bytes.
    pub span: Span,
    /// Line and column of its first character.
    pub start: Position,
    /// The first character after it.
    pub end: Position,
}

impl SourceRange {
    /// The beginning of a text, also of one that could not be read.
    pub fn beginning() -> Self {
        let start = Position { line: 1, column: 1 };
        Self {
            span: Span::new(0, 0),
            start,
            end: start,
        }
    }
}

/// The value of the field; its key for an unknown field, and if the mistake is in the key. For a missing field, the key of the object that should
/// contain it, or its first sibling if that object has no key.
pub fn span_at(document: &Document<'_>, path: &FieldPath, error_type: &ErrorType) -> Span {
    let written = |span: Option<Span>| span.filter(|span| !span.is_empty());
    let key = || written(document.key_span_of(path));
    let value = || written(document.span_of(path));
    let own = match error_type {
        ErrorType::Unknown => key().or_else(value),
        _ if is_about_key(document, path, error_type) => key().or_else(value),
        // What begins at the first entry of a mapping or list seems to be about that entry.
        ErrorType::Mistyped { .. } if is_container(document, path) => key().or_else(value),
        _ => value().or_else(key),
    };
    own.unwrap_or_else(|| above(document, path))
}

/// Whether the text of a mistake is the key of an entry, such as that of a label, and not its value.
fn is_about_key(document: &Document<'_>, path: &FieldPath, error_type: &ErrorType) -> bool {
    let Some(Segment::Key(key)) = path.segments().last() else {
        return false;
    };
    let (ErrorType::Invalid { value: shown } | ErrorType::Note { value: Some(shown) }) = error_type else {
        return false;
    };
    let value = path.find(document.value()).and_then(Json::as_str);
    *shown == quoted(key) && value != Some(key)
}

fn is_container(document: &Document<'_>, path: &FieldPath) -> bool {
    path.find(document.value())
        .is_some_and(|value| value.is_object() || value.as_array().is_some())
}

/// The nearest parent of a field that is written.
fn above(document: &Document<'_>, path: &FieldPath) -> Span {
    let mut holder = path.parent();
    while let Some(path) = holder {
        let span = document.key_span_of(&path).or_else(|| document.span_of(&path));
        if let Some(span) = span.filter(|span| !span.is_empty()) {
            return span;
        }
        holder = path.parent();
    }
    document.span()
}

/// A span with its lines and columns.
pub fn located(span: Span, lines: &Lines<'_>) -> SourceRange {
    SourceRange {
        span,
        start: lines.position(span.start()),
        end: lines.position(span.end()),
    }
}

/// A span at the end of a text is moved to just after its last word: the line after that does not exist.
pub fn within(text: &str, span: Span) -> Span {
    let (before, behind) = text.split_at_checked(span.start()).unwrap_or((text, ""));
    if behind.trim_start().is_empty() {
        let end = before.trim_end().len();
        return Span::new(end, end);
    }
    span
}
