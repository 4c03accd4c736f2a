//! SARIF 2.1.0, as code scanning reads it: one log with one run.

use poolgate_core::diagnostic::{FieldPath, Severity};
use poolgate_core::rules;
use serde::Serialize;
use serde_json::{Value, json};

use super::super::finding::Finding;
use super::super::fix::TextEdit;
use super::super::source_range::SourceRange;
use super::super::tally::Tally;
use super::fingerprint::Fingerprints;
use super::{FileReport, RulePages, listed, uri, whole_sentence};
use crate::text_rules;

pub(super) const OPENING: &str = "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\
     \"version\":\"2.1.0\",\"runs\":[{\"columnKind\":\"unicodeCodePoints\",\"results\":[\n";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Result {
    rule_id: &'static str,
    level: &'static str,
    message: Value,
    locations: [Location; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Location>,
    partial_fingerprints: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixes: Vec<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: PhysicalLocation,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logical_locations: Vec<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: Value,
    region: Region,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: usize,
    start_column: usize,
    end_line: usize,
    end_column: usize,
}

pub(super) fn file(file: &FileReport<'_>) -> String {
    let mut fingerprints = Fingerprints::default();
    let uri = uri(file.name);
    listed(file.findings.iter().map(|finding| {
        let fingerprint = fingerprints.of(file.name, finding);
        result(&uri, &fingerprint, finding)
    }))
}

fn result(own: &str, fingerprint: &str, finding: &Finding) -> Result {
    let location = |uri: &str, place: SourceRange, field: Option<&FieldPath>| Location {
        physical_location: PhysicalLocation {
            artifact_location: json!({"uri": uri}),
            region: Region::of(place),
        },
        logical_locations: field
            .map(|field| json!({"fullyQualifiedName": field.to_string()}))
            .into_iter()
            .collect(),
    };
    let related = finding.related.iter().map(|place| location(own, *place, None));
    let elsewhere = finding.elsewhere.iter();
    let elsewhere = elsewhere.map(|other| location(&uri(&other.file), other.place, None));
    Result {
        rule_id: finding.rule,
        level: level(finding.severity),
        message: json!({"text": whole_sentence(finding)}),
        locations: [location(own, finding.place, finding.field.as_ref())],
        related_locations: related.chain(elsewhere).collect(),
        partial_fingerprints: json!({"poolgate/v1": fingerprint}),
        fixes: finding.edit.iter().map(|edit| fix(own, edit)).collect(),
    }
}

fn fix(uri: &str, edit: &TextEdit) -> Value {
    json!({"artifactChanges": [{
        "artifactLocation": {"uri": uri},
        "replacements": [{
            "deletedRegion": Region::of(edit.place),
            "insertedContent": {"text": edit.text},
        }],
    }]})
}

impl Region {
    fn of(place: SourceRange) -> Self {
        Self {
            start_line: place.start.line,
            start_column: place.start.column,
            end_line: place.end.line,
            end_column: place.end.column,
        }
    }
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

/// The rules with findings, and whether the run is reliable.
pub(super) fn closing(tally: &Tally, pages: RulePages<'_>) -> String {
    let rules: Vec<Value> = tally.rules.keys().map(|id| descriptor(id, pages)).collect();
    let driver = json!({
        "name": "poolgate",
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "rules": rules,
    });
    let invocation = json!({"executionSuccessful": tally.is_reliable()});
    let properties = json!({"karpenterVersions": tally.releases(), "policies": tally.policies()});
    format!(
        "\n],\"tool\":{{\"driver\":{driver}}},\"invocations\":[{invocation}],\"properties\":{properties}}}]}}\n"
    )
}

/// The severity of a rule in SARIF, or that it is off.
fn configuration(severity: Option<Severity>) -> Value {
    match severity {
        Some(severity) => json!({"level": level(severity)}),
        None => json!({"enabled": false}),
    }
}

fn descriptor(id: &str, pages: RulePages<'_>) -> Value {
    let (title, why, severity) = match (rules::find(id), text_rules::find(id)) {
        (Some(rule), _) => (rule.title, rule.why, rule.severity),
        (None, Some(rule)) => (rule.title, rule.why, Some(rule.severity)),
        (None, None) => return json!({"id": id}),
    };
    let mut descriptor = json!({
        "id": id,
        "shortDescription": {"text": title},
        "help": {
            "text": format!("{why}\n\nMore: poolgate rules {id}"),
            "markdown": format!("{why}\n\nMore: `poolgate rules {id}`"),
        },
        "defaultConfiguration": configuration(severity),
    });
    if let (Some(page), Some(fields)) = (pages.of(id), descriptor.as_object_mut()) {
        fields.insert("helpUri".into(), page.into());
    }
    descriptor
}
