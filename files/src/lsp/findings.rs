//! A finding as the protocol has it.

use poolgate_core::diagnostic::Severity;
use serde_json::{Value, json};

use super::args::LspArgs;
use crate::edit::Positions;
use crate::format::finding::{Finding, Related};
use crate::format::{RulePages, without_empty};

/// A finding in the text of a document.
pub fn diagnostic(finding: &Finding, positions: &Positions<'_>, uri: &str, flags: &LspArgs) -> Value {
    let related = finding.related.iter().map(|Related { field, place }| {
        let is_field = !field.segments().is_empty();
        json!({
            "location": { "uri": uri, "range": positions.range(place.span) },
            "message": if is_field { field.to_string() } else { "see here".to_owned() },
        })
    });
    let page = RulePages(flags.rules_url.as_deref()).url(finding.rule);
    without_empty(json!({
        "range": positions.range(finding.place.span),
        "severity": match finding.severity {
            Severity::Error => 1,
            Severity::Warning => 2,
            Severity::Note => 3,
        },
        "code": finding.rule,
        "codeDescription": page.map(|href| json!({ "href": href })),
        "source": "poolgate",
        "message": finding.message(),
        "relatedInformation": related.collect::<Value>(),
    }))
}
