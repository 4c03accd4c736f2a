//! Known findings that are not reported again: a file that is written once and kept beside the manifests.
//!
//! A finding is identified by its file, rule, object and field, not by its line, so that it stays known while lines
//! move.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};
use poolgate_core::api::API_VERSION;
use poolgate_core::diagnostic::Severity;
use serde::{Deserialize, Serialize};

use crate::format::finding::Finding;

const KIND: &str = "LintBaseline";

/// Most bytes of a baseline file.
const MOST_BYTES: u64 = 64 << 20;

/// What identifies a finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaselineEntry {
    file: String,
    rule: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    /// The field; for a mistake in the text itself, the message.
    field: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct BaselineFile {
    api_version: String,
    kind: String,
    findings: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    #[serde(flatten)]
    known: BaselineEntry,
    /// How many findings have this identity.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    count: usize,
}

const fn one() -> usize {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
const fn is_one(count: &usize) -> bool {
    *count == 1
}

/// The known findings, and how many there are of each.
#[derive(Debug, Default)]
pub struct Baseline {
    known: HashMap<BaselineEntry, usize>,
}

impl Baseline {
    pub fn load(path: &Path) -> anyhow::Result<Self> {
        let name = path.display();
        let length = fs::metadata(path)
            .with_context(|| {
                format!("the baseline {name} cannot be read; --write-baseline {name} makes one")
            })?
            .len();
        if length > MOST_BYTES {
            bail!("the baseline {name} has {length} bytes; {MOST_BYTES} are read");
        }
        let text = fs::read_to_string(path).with_context(|| format!("the baseline {name} cannot be read"))?;
        let file: BaselineFile =
            serde_json::from_str(&text).with_context(|| format!("{name} is not a baseline"))?;
        if file.api_version != API_VERSION || file.kind != KIND {
            bail!("{name} is not a baseline: write apiVersion {API_VERSION} and kind {KIND}");
        }
        let mut known = HashMap::new();
        for entry in file.findings {
            *known.entry(entry.known).or_insert(0) += entry.count;
        }
        Ok(Self { known })
    }

    /// How many findings it holds in the files that are counted.
    pub fn count(&self, is_counted: impl Fn(&str) -> bool) -> usize {
        let known = self.known.iter();
        let counted = known.filter(|(entry, _)| is_counted(&entry.file));
        counted.map(|(_, count)| count).sum()
    }

    /// Removes the known findings from those of a file. Returns how many it removed.
    pub fn subtract(&self, file: &str, findings: &mut Vec<Finding>) -> usize {
        if self.known.is_empty() {
            return 0;
        }
        let before = findings.len();
        let mut met: HashMap<BaselineEntry, usize> = HashMap::new();
        findings.retain(|finding| {
            let key = BaselineEntry::new(file, finding);
            let Some(count) = self.known.get(&key) else {
                return true;
            };
            let met = met.entry(key).or_default();
            *met += 1;
            *met > *count
        });
        before - findings.len()
    }
}

/// The baseline that `--write-baseline` writes.
#[derive(Debug, Default)]
pub struct NewBaseline(BTreeMap<BaselineEntry, usize>);

impl NewBaseline {
    /// Moves all findings of a file but notes into entries.
    pub fn entries(file: &str, findings: &mut Vec<Finding>) -> Vec<BaselineEntry> {
        let held = findings.extract_if(.., |finding| finding.severity != Severity::Info);
        held.map(|finding| BaselineEntry::new(file, &finding)).collect()
    }

    pub fn add(&mut self, entries: Vec<BaselineEntry>) {
        for entry in entries {
            *self.0.entry(entry).or_insert(0) += 1;
        }
    }

    /// Writes the file, in the order of the files' names.
    pub fn write(self, path: &Path) -> anyhow::Result<()> {
        let file = BaselineFile {
            api_version: API_VERSION.into(),
            kind: KIND.into(),
            findings: self
                .0
                .into_iter()
                .map(|(known, count)| Entry { known, count })
                .collect(),
        };
        let mut text = serde_json::to_string_pretty(&file)?;
        text.push('\n');
        fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
    }
}

impl BaselineEntry {
    fn new(file: &str, finding: &Finding) -> Self {
        Self {
            file: file.to_owned(),
            rule: finding.rule.to_owned(),
            object: finding.object.as_ref().map(|object| match &object.name {
                Some(name) => format!("{} {name}", object.kind),
                None => object.kind.to_owned(),
            }),
            field: finding.field_or_message(),
        }
    }
}
