//! A Code Quality report as GitLab reads it: one JSON list. Its fingerprints are also those of SARIF.

use std::collections::HashMap;
use std::fmt::Write as _;

use poolgate_core::diagnostic::Severity;
use poolgate_core::sha256::sha256;
use serde_json::json;

use super::finding::Finding;
use super::{FileReport, listed};

pub const OPENING: &str = "[\n";
pub const CLOSING: &str = "\n]\n";

pub fn file(file: &FileReport<'_>) -> String {
    let mut fingerprints = Fingerprints::default();
    listed(file.findings.iter().map(|finding| {
        json!({
            "description": finding.sentences(),
            "check_name": finding.rule,
            "fingerprint": fingerprints.next_for(file.name, finding),
            "severity": match finding.severity {
                Severity::Error => "critical",
                Severity::Warning => "minor",
                Severity::Note => "info",
            },
            "location": match &finding.file {
                // GitLab asks for a line.
                Some(rendered_from) => json!({"path": rendered_from, "lines": {"begin": 1}}),
                None => json!({
                    "path": file.name,
                    "lines": {"begin": finding.place.start.line, "end": finding.place.end.line},
                }),
            },
        })
    }))
}

/// How many hexadecimal digits a fingerprint has.
const DIGITS: usize = 32;

/// Gives each finding of one file a different name, which stays the same while lines move: made from the rule, the file, the
/// object and the field.
#[derive(Debug, Default)]
pub struct Fingerprints {
    /// How often each identity was seen: if a key is written twice, its field can be wrong twice.
    met: HashMap<String, usize>,
}

impl Fingerprints {
    /// The next finding's name.
    pub fn next_for(&mut self, file: &str, finding: &Finding) -> String {
        let mut identity = format!("{file}\n{}\n", finding.rule);
        if let Some(object) = &finding.object {
            let name = object.name.as_deref().unwrap_or_default();
            let _ = writeln!(identity, "{} {name}", object.kind);
        }
        identity.push_str(&finding.field_or_statement());
        let met = self.met.entry(identity.clone()).or_default();
        let _ = write!(identity, "\n{met}");
        *met += 1;
        let mut name = sha256(identity.as_bytes());
        name.truncate(DIGITS);
        name
    }
}
