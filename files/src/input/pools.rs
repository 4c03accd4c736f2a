//! Objects that will be applied as they are: the NodePools of files or a cluster, and others that a command takes.

use poolgate_core::diagnostic::FieldPath;
use poolgate_core::facts::{ApiVersion, TargetKarpenter};
use poolgate_core::manifest::{Limits, Lines};
use serde_json::Value;

use super::{Manifests, Project, Unread};
use crate::format::tally::{Count, Tally};
use crate::sources::{Class, Input, LeftAlone, SourceDocument, SourceObject, SourceText};
use crate::terminal;

/// Something could not be explained.
pub(crate) const FOUND: u8 = 1;

/// Something could not be read.
pub(crate) const UNREADABLE: u8 = 2;

/// A NodePool as it was found.
pub(crate) struct Pool<'i> {
    pub(crate) file: &'i str,
    /// The line at which it begins, from 1.
    pub(crate) line: usize,
    /// The version of the API that it is written in.
    pub(crate) version: ApiVersion,
    pub(crate) object: Value,
    /// The pool as the API server completes it.
    pub(crate) completed: Value,
    pub(crate) project: &'i Project,
    pub(crate) karpenter: &'i TargetKarpenter,
}

impl<'i> Pool<'i> {
    /// A pool as a cluster has stored it.
    pub(crate) fn stored(object: Value, project: &'i Project, karpenter: &'i TargetKarpenter) -> Self {
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

    pub(crate) fn name(&self) -> &str {
        let name = self.object.pointer("/metadata/name");
        name.and_then(Value::as_str).unwrap_or_default()
    }
}

/// An object that will be applied as it is, and its document.
pub(crate) struct Applied<'i, 'd> {
    /// The name of its file.
    pub(crate) file: &'i str,
    pub(crate) project: &'i Project,
    pub(crate) karpenter: &'i TargetKarpenter,
    pub(crate) found: &'d SourceObject<'d>,
    document: &'d SourceDocument<'d>,
    lines: &'d Lines<'d>,
}

impl<'i> Applied<'i, '_> {
    /// The line at which a field of the object begins, or else the object, from 1.
    pub(crate) fn line(&self, field: &FieldPath) -> usize {
        let own = self.found.object.path.segments().iter();
        let path: FieldPath = own.chain(field.segments()).cloned().collect();
        let span = self.document.document.span_of(&path).unwrap_or(self.found.span);
        self.lines.position(span.start()).line
    }

    /// The NodePool that it is; `None` if it is something else.
    pub(crate) fn pool(&self) -> Option<Pool<'i>> {
        let version = self.found.pool?;
        let object = Value::from(self.found.object.value);
        Some(Pool {
            file: self.file,
            line: self.line(&FieldPath::root()),
            version,
            completed: self.karpenter.completed(&object, version),
            object,
            project: self.project,
            karpenter: self.karpenter,
        })
    }
}

/// What was read of all inputs besides the objects that were taken.
#[derive(Default)]
pub(crate) struct Rest {
    /// What is not known, and why.
    pub(crate) complaints: Vec<String>,
    /// The exit code so far.
    pub(crate) code: u8,
    /// How many other objects there are.
    pub(crate) others: usize,
    /// What was left out.
    pub(crate) skipped: Tally,
}

/// How a command reads objects.
pub(crate) struct Reading<'r> {
    /// Which objects it takes.
    pub(crate) takes: &'r dyn Fn(&SourceObject<'_>) -> bool,
    /// What is unknown of one that will not be applied as it is.
    pub(crate) unknown: &'static str,
    /// Whether a broken text matters that does not name Karpenter.
    pub(crate) needs_all: bool,
}

impl Reading<'_> {
    /// Reads all inputs. An object that will not be applied as it is becomes a complaint, and so does one that is not taken.
    pub(crate) fn each<'i>(
        &self,
        manifests: &'i Manifests,
        take: &mut dyn FnMut(&Applied<'i, '_>) -> Result<(), String>,
    ) -> Rest {
        let mut rest = Rest {
            skipped: manifests.skipped(),
            ..Rest::default()
        };
        for input in &manifests.inputs {
            match manifests.read(input) {
                Ok(text) => self.read(manifests, input, &text, take, &mut rest),
                Err(Unread::NotText(_)) if !self.needs_all => rest.skipped.add(Count::NotText, 1),
                Err(Unread::NotText(error) | Unread::Failed(error)) => {
                    rest.unreadable(format!("error: {}: {error}", input.name));
                }
            }
        }
        rest
    }

    fn read<'i>(
        &self,
        manifests: &'i Manifests,
        input: &'i Input,
        text: &SourceText<'_>,
        take: &mut dyn FnMut(&Applied<'i, '_>) -> Result<(), String>,
        rest: &mut Rest,
    ) {
        let name = &*input.name;
        let lines = Lines::new(&text.text);
        let mut has_patch = false;
        for document in text.documents(&Limits::default()) {
            match (document.class, document.unread()) {
                (Class::Unrelated, _) if !self.needs_all => continue,
                (Class::Template(_), Some((offset, why))) => {
                    rest.unreadable(format!("error: {name}:{}: {why}", lines.position(offset)));
                    continue;
                }
                (_, Some((offset, why))) => {
                    rest.unknown(format!("{name}:{}: {why}", lines.position(offset)));
                    continue;
                }
                _ => {}
            }
            for found in document.objects() {
                if !(self.takes)(&found) {
                    rest.others += 1;
                    continue;
                }
                let applied = Applied {
                    file: name,
                    project: manifests.project(input),
                    karpenter: manifests.karpenter_of(input),
                    found: &found,
                    document: &document,
                    lines: &lines,
                };
                match document.left(found.object.value) {
                    Some(LeftAlone::Patch) => has_patch = true,
                    Some(reason) => rest.unknown(self.complaint(&applied, &reason.to_string())),
                    None => {
                        if let Err(reason) = take(&applied) {
                            rest.unknown(self.complaint(&applied, &reason));
                        }
                    }
                }
            }
        }
        if has_patch {
            let reason = LeftAlone::Patch;
            terminal::remark(&format!("{name}: skipped, because {reason}"));
        }
    }
}

impl Reading<'_> {
    fn complaint(&self, applied: &Applied<'_, '_>, reason: &str) -> String {
        let line = applied.line(&FieldPath::root());
        format!("{}:{line}: {}: {reason}", applied.file, self.unknown)
    }
}

impl Rest {
    fn unknown(&mut self, complaint: String) {
        self.code = self.code.max(FOUND);
        self.complaints.push(complaint);
    }

    fn unreadable(&mut self, complaint: String) {
        self.code = UNREADABLE;
        self.complaints.push(complaint);
    }
}
