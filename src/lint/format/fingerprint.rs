//! A name for a finding that stays the same while lines move: made from the rule, the file, the object and the
//! field.

use std::collections::HashMap;
use std::fmt::Write as _;

use aws_lc_rs::digest::{SHA256, digest};

use super::super::finding::Finding;

/// Gives each finding of one file a different name.
#[derive(Debug, Default)]
pub(super) struct Fingerprints {
    /// How often each identity was seen: if a key is written twice, its field can be wrong twice.
    met: HashMap<String, usize>,
}

impl Fingerprints {
    /// The next finding's name: 32 hexadecimal digits.
    pub(super) fn of(&mut self, file: &str, finding: &Finding) -> String {
        let mut identity = format!("{file}\n{}\n", finding.rule);
        if let Some(object) = &finding.object {
            let name = object.name.as_deref().unwrap_or_default();
            let _ = writeln!(identity, "{} {name}", object.kind);
        }
        match &finding.field {
            Some(field) => {
                let _ = write!(identity, "{field}");
            }
            None => identity.push_str(&finding.message),
        }
        let met = self.met.entry(identity.clone()).or_default();
        let _ = write!(identity, "\n{met}");
        *met += 1;
        let digest = digest(&SHA256, identity.as_bytes());
        let mut name = String::with_capacity(32);
        for byte in digest.as_ref().iter().take(16) {
            let _ = write!(name, "{byte:02x}");
        }
        name
    }
}
