//! The Reviewdog Diagnostic Format: one JSON object.

use poolgate_core::diagnostic::Severity;
use serde::Serialize;

use super::super::source_range::SourceRange;
use super::{FileReport, RulePages, listed, whole_sentence};

pub(super) const OPENING: &str = "{\"source\":{\"name\":\"poolgate\"},\"diagnostics\":[\n";
pub(super) const CLOSING: &str = "\n]}\n";

#[derive(Serialize)]
struct Diagnostic<'f> {
    message: String,
    location: Location<'f>,
    severity: &'static str,
    code: Code,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suggestions: Vec<Suggestion<'f>>,
}

#[derive(Serialize)]
struct Location<'f> {
    path: &'f str,
    range: Range,
}

#[derive(Serialize)]
struct Suggestion<'f> {
    range: Range,
    text: &'f str,
}

#[derive(Serialize)]
struct Range {
    start: Position,
    end: Position,
}

#[derive(Serialize)]
struct Position {
    line: usize,
    column: usize,
}

#[derive(Serialize)]
struct Code {
    value: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

pub(super) fn file(file: &FileReport<'_>, pages: RulePages<'_>) -> String {
    listed(file.findings.iter().map(|finding| {
        Diagnostic {
            message: whole_sentence(finding),
            location: Location {
                path: file.name,
                range: Range::of(finding.place, file.text),
            },
            severity: match finding.severity {
                Severity::Error => "ERROR",
                Severity::Warning => "WARNING",
                Severity::Info => "INFO",
            },
            code: Code {
                value: finding.rule,
                url: pages.of(finding.rule),
            },
            suggestions: finding
                .edit
                .iter()
                .map(|edit| Suggestion {
                    range: Range::of(edit.place, file.text),
                    text: &edit.text,
                })
                .collect(),
        }
    }))
}

impl Range {
    fn of(place: SourceRange, text: &str) -> Self {
        Self {
            start: Position::at(place.start.line, place.span.start(), text),
            end: Position::at(place.end.line, place.span.end(), text),
        }
    }
}

impl Position {
    /// This format counts columns in bytes.
    fn at(line: usize, offset: usize, text: &str) -> Self {
        let before = text.get(..offset).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line,
            column: offset - line_start.min(offset) + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_in_bytes() {
        let text = "a: 1\n池: x\n";
        let position = Position::at(2, text.find('x').expect("x"), text);
        assert_eq!((position.line, position.column), (2, 6));
    }
}
