//! A name for a finding that stays the same while lines move: made from the rule, the file, the object and the
//! field.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::super::finding::Finding;
use poolgate_core::sha256::sha256;

/// How many hexadecimal digits a name has.
const DIGITS: usize = 32;

/// Gives each finding of one file a different name.
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
        identity.push_str(&finding.field_or_message());
        let met = self.met.entry(identity.clone()).or_default();
        let _ = write!(identity, "\n{met}");
        *met += 1;
        let mut name = sha256(identity.as_bytes());
        name.truncate(DIGITS);
        name
    }
}
