//! A Code Quality report as GitLab reads it: one JSON list.

use poolgate_core::diagnostic::Severity;
use serde_json::json;

use super::fingerprint::Fingerprints;
use super::{FileReport, listed, whole_sentence};

pub const OPENING: &str = "[\n";
pub const CLOSING: &str = "\n]\n";

pub fn file(file: &FileReport<'_>) -> String {
    let mut fingerprints = Fingerprints::default();
    listed(file.findings.iter().map(|finding| {
        json!({
            "description": whole_sentence(finding),
            "check_name": finding.rule,
            "fingerprint": fingerprints.next_for(file.name, finding),
            "severity": match finding.severity {
                Severity::Error => "critical",
                Severity::Warning => "minor",
                Severity::Info => "info",
            },
            "location": {
                "path": file.name,
                "lines": {"begin": finding.place.start.line, "end": finding.place.end.line},
            },
        })
    }))
}
