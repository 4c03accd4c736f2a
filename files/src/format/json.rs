//! One JSON object for a run. Its shape is versioned: fields are added, never changed or removed.

use poolgate_core::diagnostic::FieldPath;
use serde_json::{Value, json};

use super::finding::{Elsewhere, Finding};
use super::summary::Summary;
use super::tally::Count;
use super::{FileReport, listed, without_empty};
use crate::edit::{SourceRange, TextEdit};

pub const OPENING: &str = "{\"apiVersion\":\"poolgate.dev/v1alpha1\",\"kind\":\"LintReport\",\"results\":[\n";

pub fn file(file: &FileReport<'_>) -> String {
    listed(file.findings.iter().map(|finding| result(file.name, finding)))
}

fn result(file: &str, finding: &Finding) -> Value {
    let own = finding.related.iter().map(|own| related(own.place, None));
    let others = finding.elsewhere.iter();
    let others = others.map(|other| related(other.place, Some(other)));
    without_empty(json!({
        "file": file,
        "line": finding.place.start.line,
        "column": finding.place.start.column,
        "endLine": finding.place.end.line,
        "endColumn": finding.place.end.column,
        "severity": finding.severity.as_str(),
        "rule": finding.rule,
        "rejected": finding.is_lowered().then_some(true),
        "object": finding.object,
        "source": finding.source,
        "field": finding.field.as_ref().map(ToString::to_string),
        "pointer": finding.field.as_ref().map(FieldPath::to_pointer),
        "title": finding.title,
        "value": finding.value,
        "consequence": finding.consequence,
        "remark": finding.remark,
        "help": finding.suggestion,
        "edit": finding.edit().map(edit),
        "related": own.chain(others).collect::<Value>(),
    }))
}

/// What `--fix` would write, and what that replaces.
fn edit(edit: &TextEdit) -> Value {
    json!({
        "line": edit.place.start.line,
        "column": edit.place.start.column,
        "endLine": edit.place.end.line,
        "endColumn": edit.place.end.column,
        "text": edit.text,
    })
}

fn related(place: SourceRange, other: Option<&Elsewhere>) -> Value {
    without_empty(json!({
        "object": other.map(|other| &other.object),
        "file": other.map(|other| &other.file),
        "line": place.start.line,
        "column": place.start.column,
    }))
}

pub fn closing(Summary { tally, scope }: Summary<'_>) -> String {
    let summary = json!({
        "files": scope.len(),
        "objects": tally.of(Count::Objects),
        "errors": tally.of(Count::Errors),
        "warnings": tally.of(Count::Warnings),
        "notes": tally.of(Count::Notes),
        "omitted": tally.of(Count::Omitted),
        "skippedObjects": tally.of(Count::Others),
        "skippedTemplateFolders": tally.of(Count::TemplateFolders),
        "skippedLinks": tally.of(Count::LinkedFolders),
        "excluded": tally.of(Count::Excluded),
        "notText": tally.of(Count::NotText),
        "unreadable": tally.of(Count::Unreadable) + tally.of(Count::Unread),
        "patches": tally.of(Count::Parts),
        "encrypted": tally.of(Count::Encrypted),
        "ignored": tally.of(Count::Ignored),
        "karpenterVersions": tally.releases(),
        "policies": tally.policies(),
    });
    format!("\n],\"summary\":{summary}}}\n")
}
