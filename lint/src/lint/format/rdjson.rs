//! The Reviewdog Diagnostic Format: one JSON object.

use poolgate_core::diagnostic::Severity;
use serde_json::{Value, json};

use super::super::finding::Finding;
use super::super::source_range::SourceRange;
use super::{FileReport, RulePages, listed, whole_sentence, without_empty};

pub const OPENING: &str = "{\"source\":{\"name\":\"poolgate\"},\"diagnostics\":[\n";
pub const CLOSING: &str = "\n]}\n";

pub fn file(file: &FileReport<'_>, pages: RulePages<'_>) -> String {
    let findings = file.findings.iter();
    listed(findings.map(|finding| diagnostic(file, finding, pages)))
}

fn diagnostic(file: &FileReport<'_>, finding: &Finding, pages: RulePages<'_>) -> Value {
    let suggestions = finding.edit.iter();
    let suggestions =
        suggestions.map(|edit| json!({"range": range(edit.place, file.text), "text": edit.text}));
    without_empty(json!({
        "message": whole_sentence(finding),
        "location": {"path": file.name, "range": range(finding.place, file.text)},
        "severity": match finding.severity {
            Severity::Error => "ERROR",
            Severity::Warning => "WARNING",
            Severity::Info => "INFO",
        },
        "code": without_empty(json!({"value": finding.rule, "url": pages.url(finding.rule)})),
        "suggestions": suggestions.collect::<Value>(),
    }))
}

fn range(place: SourceRange, text: &str) -> Value {
    let (start, end) = (place.span.start(), place.span.end());
    json!({
        "start": {"line": place.start.line, "column": column(start, text)},
        "end": {"line": place.end.line, "column": column(end, text)},
    })
}

/// This format counts columns in bytes.
fn column(offset: usize, text: &str) -> usize {
    let before = text.get(..offset).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    offset - line_start.min(offset) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_in_bytes() {
        let text = "a: 1\n池: x\n";
        assert_eq!(column(text.find('x').expect("x"), text), 6);
    }
}
