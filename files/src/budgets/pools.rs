//! The NodePools to explain, from files or a cluster.

use poolgate_core::facts::{ApiVersion, TargetKarpenter};
use poolgate_core::manifest::{Limits, Lines};
use serde_json::Value;

use crate::format::tally::{Count, Tally};
use crate::input::{Manifests, Project, Unread};
use crate::sources::{Class, Input, LeftAlone, SourceText};
use crate::terminal;

/// Something could not be explained.
pub const FOUND: u8 = 1;

/// Something could not be read.
pub const UNREADABLE: u8 = 2;

/// A NodePool as it was found.
pub struct Pool<'i> {
    pub file: &'i str,
    /// The line at which it begins, from 1.
    pub line: usize,
    /// The version of the API that it is written in.
    pub version: ApiVersion,
    pub object: Value,
    /// The pool as the API server completes it.
    pub completed: Value,
    pub project: &'i Project,
    pub karpenter: &'i TargetKarpenter,
}

impl<'i> Pool<'i> {
    /// A pool as a cluster has stored it.
    pub fn stored(object: Value, project: &'i Project, karpenter: &'i TargetKarpenter) -> Self {
        Self {
            file: "nodepools",
            line: 1,
            version: ApiVersion::V1,
            completed: karpenter.completed(&object, ApiVersion::V1),
            object,
            project,
            karpenter,
        }
    }

    pub fn name(&self) -> &str {
        let name = self.object.pointer("/metadata/name");
        name.and_then(Value::as_str).unwrap_or_default()
    }
}

/// The contents of all inputs.
#[derive(Default)]
pub struct Pools<'i> {
    pub all: Vec<Pool<'i>>,
    /// What is not explained, and why.
    pub complaints: Vec<String>,
    /// The exit code so far.
    pub code: u8,
    /// How many other objects there are.
    pub others: usize,
    /// What was left out.
    pub skipped: Tally,
}

impl<'i> Pools<'i> {
    /// Reads all inputs.
    pub fn read(manifests: &'i Manifests) -> Self {
        let mut pools = Self {
            skipped: manifests.skipped(),
            ..Self::default()
        };
        for input in &manifests.inputs {
            match manifests.read(input) {
                Ok(text) => pools.add(manifests, input, &text),
                Err(Unread::NotText(_)) => pools.skipped.add(Count::NotText, 1),
                Err(Unread::Failed(error)) => pools.unreadable(format!("error: {}: {error}", input.name)),
            }
        }
        pools
    }

    fn add(&mut self, manifests: &'i Manifests, input: &'i Input, text: &SourceText<'_>) {
        let name = &*input.name;
        let lines = Lines::new(&text.text);
        let mut has_patch = false;
        for document in text.documents(&Limits::default()) {
            match (document.class, document.unread()) {
                (Class::Unrelated, _) => continue,
                (Class::Template(_), Some((offset, why))) => {
                    self.unreadable(format!("error: {name}:{}: {why}", lines.position(offset)));
                    continue;
                }
                (_, Some((offset, why))) => {
                    self.unknown(format!("{name}:{}: {why}", lines.position(offset)));
                    continue;
                }
                _ => {}
            }
            for found in document.objects() {
                let Some(version) = found.pool else {
                    self.others += 1;
                    continue;
                };
                let line = lines.position(found.span.start()).line;
                match document.left(found.object.value) {
                    Some(LeftAlone::Patch) => has_patch = true,
                    Some(reason) => {
                        self.unknown(format!("{name}:{line}: the budgets are unknown: {reason}"));
                    }
                    None => {
                        let object = Value::from(found.object.value);
                        let karpenter = manifests.karpenter_of(input);
                        self.all.push(Pool {
                            file: name,
                            line,
                            version,
                            completed: karpenter.completed(&object, version),
                            object,
                            project: manifests.project(input),
                            karpenter,
                        });
                    }
                }
            }
        }
        if has_patch {
            let reason = LeftAlone::Patch;
            terminal::remark(&format!("{name}: skipped, because {reason}"));
        }
    }

    fn unknown(&mut self, complaint: String) {
        self.code = self.code.max(FOUND);
        self.complaints.push(complaint);
    }

    fn unreadable(&mut self, complaint: String) {
        self.code = UNREADABLE;
        self.complaints.push(complaint);
    }
}
