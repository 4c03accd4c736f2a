//! SARIF 2.1.0, as code scanning reads it: one log with one run.

use poolgate_core::diagnostic::{FieldPath, Severity};
use poolgate_core::rules::rule::Page;
use serde_json::{Value, json};

use super::finding::Finding;
use super::gitlab::Fingerprints;
use super::line_hash::LineHashes;
use super::tally::Tally;
use super::{FileReport, RulePages, listed, uri, without_empty};
use crate::edit::{SourceRange, TextEdit};
use crate::text_rules;

pub const OPENING: &str = "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\
     \"version\":\"2.1.0\",\"runs\":[{\"columnKind\":\"unicodeCodePoints\",\"results\":[\n";

pub fn file(file: &FileReport<'_>) -> String {
    let mut fingerprints = Fingerprints::default();
    let own = uri(file.name);
    let lines = LineHashes::of(file.text);
    listed(file.findings.iter().map(|finding| {
        let line = lines
            .of_line(finding.place.start.line)
            .filter(|_| finding.file.is_none());
        let fingerprints = without_empty(json!({
            "poolgate/v1": fingerprints.next_for(file.name, finding),
            "primaryLocationLineHash": line,
        }));
        result(&own, &fingerprints, finding)
    }))
}

fn result(own: &str, fingerprints: &Value, finding: &Finding) -> Value {
    let location = |uri: &str, place: Option<SourceRange>, field: Option<&FieldPath>| {
        let name = |field: &FieldPath| json!({"fullyQualifiedName": field.to_string()});
        without_empty(json!({
            "physicalLocation": without_empty(json!({
                "artifactLocation": {"uri": uri},
                "region": place.map(region),
            })),
            "logicalLocations": field.map(name).into_iter().collect::<Value>(),
        }))
    };
    let field = finding.field.as_ref();
    // Places in a rendered text are in no file.
    let (at, related) = if let Some(file) = &finding.file {
        (location(&uri(file), None, field), Vec::new())
    } else {
        let related = finding.related.iter();
        let related = related.map(|related| location(own, Some(related.place), None));
        let elsewhere = finding.elsewhere.iter();
        let elsewhere = elsewhere.map(|other| location(&uri(&other.file), Some(other.place), None));
        let at = location(own, Some(finding.place), field);
        (at, related.chain(elsewhere).collect())
    };
    let fixes = finding.edit().into_iter().map(|edit| fix(own, edit));
    without_empty(json!({
        "ruleId": finding.rule,
        "level": level(finding.severity),
        "message": {"text": finding.sentences()},
        "locations": [at],
        "relatedLocations": related,
        "partialFingerprints": fingerprints,
        "fixes": fixes.collect::<Value>(),
    }))
}

fn fix(uri: &str, edit: &TextEdit) -> Value {
    json!({"artifactChanges": [{
        "artifactLocation": {"uri": uri},
        "replacements": [{
            "deletedRegion": region(edit.place),
            "insertedContent": {"text": edit.text},
        }],
    }]})
}

fn region(place: SourceRange) -> Value {
    json!({
        "startLine": place.start.line,
        "startColumn": place.start.column,
        "endLine": place.end.line,
        "endColumn": place.end.column,
    })
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// The rules with findings, and whether the run is reliable.
pub fn closing(tally: &Tally, pages: RulePages<'_>) -> String {
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

fn descriptor(id: &str, pages: RulePages<'_>) -> Value {
    let Some(rule) = text_rules::find_any(id) else {
        return json!({"id": id});
    };
    let Page { title, why, .. } = rule.page();
    without_empty(json!({
        "id": id,
        "shortDescription": {"text": title},
        "fullDescription": {"text": why},
        "help": {
            "text": format!("{why}\n\nMore: poolgate explain {id}"),
            "markdown": format!("{why}\n\nMore: `poolgate explain {id}`"),
        },
        "defaultConfiguration": {"level": level(rule.severity)},
        "helpUri": pages.url(id),
    }))
}
