//! One JSON object for a run. Its shape is versioned: fields are added, never changed or removed.

use poolgate_core::diagnostic::FieldPath;
use serde::Serialize;

use super::super::finding::{Elsewhere, Finding, Object};
use super::super::source_range::SourceRange;
use super::super::tally::Tally;
use super::{FileReport, listed};

/// Before the first result.
pub(super) const OPENING: &str =
    "{\"apiVersion\":\"poolgate.dev/v1alpha1\",\"kind\":\"LintReport\",\"results\":[\n";
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Result<'f> {
    file: &'f str,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
    severity: &'static str,
    rule: &'static str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    rejected: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<&'f Object>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'f str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<String>,
    message: &'f str,
    #[serde(skip_serializing_if = "Option::is_none")]
    suggestion: Option<&'f str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    edit: Option<Edit<'f>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related: Vec<Related<'f>>,
}

/// What `--fix` would write, and what that replaces.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Edit<'f> {
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
    text: &'f str,
}

#[derive(Serialize)]
struct Related<'f> {
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<&'f Object>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'f str>,
    line: usize,
    column: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary<'t> {
    files: usize,
    objects: usize,
    errors: usize,
    warnings: usize,
    infos: usize,
    omitted: usize,
    skipped_objects: usize,
    skipped_template_folders: usize,
    unreadable: usize,
    patches: usize,
    encrypted: usize,
    ignored: usize,
    in_baseline: usize,
    karpenter_versions: Vec<String>,
    policies: Vec<&'t str>,
}

pub(super) fn file(file: &FileReport<'_>) -> String {
    listed(file.findings.iter().map(|finding| Result::of(file.name, finding)))
}

impl<'f> Result<'f> {
    fn of(file: &'f str, finding: &'f Finding) -> Self {
        Self {
            file,
            line: finding.place.start.line,
            column: finding.place.start.column,
            end_line: finding.place.end.line,
            end_column: finding.place.end.column,
            severity: finding.severity.as_str(),
            rule: finding.rule,
            rejected: finding.is_lowered,
            object: finding.object.as_ref(),
            source: finding.source.as_deref(),
            field: finding.field.as_ref().map(ToString::to_string),
            pointer: finding.field.as_ref().map(FieldPath::to_pointer),
            message: &finding.message,
            suggestion: finding.suggestion.as_deref(),
            edit: finding.edit.as_ref().map(|edit| Edit {
                line: edit.place.start.line,
                column: edit.place.start.column,
                end_line: edit.place.end.line,
                end_column: edit.place.end.column,
                text: &edit.text,
            }),
            related: Related::of(finding),
        }
    }
}

impl<'f> Related<'f> {
    fn of(finding: &'f Finding) -> Vec<Self> {
        let of = |place: &SourceRange, other: Option<&'f Elsewhere>| Self {
            object: other.map(|other| &other.object),
            file: other.map(|other| other.file.as_str()),
            line: place.start.line,
            column: place.start.column,
        };
        let own = finding.related.iter().map(|place| of(place, None));
        let others = finding
            .elsewhere
            .iter()
            .map(|other| of(&other.place, Some(other)));
        own.chain(others).collect()
    }
}

pub(super) fn closing(tally: &Tally) -> String {
    let summary = Summary {
        files: tally.files,
        objects: tally.objects,
        errors: tally.errors,
        warnings: tally.warnings,
        infos: tally.infos,
        omitted: tally.omitted,
        skipped_objects: tally.others,
        skipped_template_folders: tally.template_folders,
        unreadable: tally.unreadable + tally.limits,
        patches: tally.parts,
        encrypted: tally.encrypted,
        ignored: tally.ignored,
        in_baseline: tally.known,
        karpenter_versions: tally.releases(),
        policies: tally.policies(),
    };
    let summary = serde_json::to_string(&summary).unwrap_or_default();
    format!("\n],\"summary\":{summary}}}\n")
}
