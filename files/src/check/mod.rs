//! One text of one file, from its documents to its findings with their fixes. `lint` checks the files of a run by it, and
//! `lsp` the text in an editor.
//!
//! The verdict is that of `poolgate_core::review::review`, nothing else.

mod comments;
mod diagnosed;
mod fixes;
mod misnamed;
mod note;
mod notes;
mod selection;
mod settings;
mod subjects;
mod suppress;
mod text;
mod unserved;

use std::path::Path;

use poolgate_core::diagnostic::Severity;

use crate::edit::{Change, SourceRange};
use crate::format::finding::Finding;
use crate::format::tally::{Count, Tally};
use crate::input::{Manifests, Unread};
use crate::sources::{Input, ReadError, Source, SourceText};
use crate::terminal;
use crate::text_rules;
use diagnosed::is_ignorable;
use text::{Manifest, check, settle};

pub(crate) use diagnosed::is_reported_once;
pub(crate) use misnamed::CheckedPools;
pub(crate) use selection::Selection;
pub(crate) use settings::Settings;
pub(crate) use subjects::{Checked, Subjects};
pub(crate) use text::{Across, OfInput};
pub(crate) use unserved::Claimed;

/// What inputs are checked by.
#[derive(Clone, Copy)]
pub(crate) struct Checker<'a> {
    pub(crate) manifests: &'a Manifests,
    pub(crate) settings: &'a Settings,
    pub(crate) selection: &'a Selection,
}

/// A text with its findings: without those that are not selected. Its fixes are right.
#[derive(Default)]
pub(crate) struct CheckedText {
    pub(crate) text: String,
    pub(crate) findings: Vec<Finding>,
    pub(crate) tally: Tally,
    pub(crate) pools: CheckedPools,
}

impl Checker<'_> {
    /// Reads and checks an input. `across` are the findings on its objects that depend on other objects.
    pub(crate) fn read(self, input: &Input, across: Option<&OfInput>) -> CheckedText {
        let mut unread = CheckedText::default();
        match self.manifests.read(input) {
            Ok(text) => return self.check(input, text, across),
            Err(Unread::NotText(_)) => unread.tally.add(Count::NotText, 1),
            Err(Unread::Failed(error)) => {
                let (what, help) = match &error {
                    ReadError::Foreign(language) => {
                        (format!("is {}", language.name()), Some(language.help()))
                    }
                    other => (other.to_string(), None),
                };
                unread.fail(&format!("{} {what}", input.name), help);
            }
        }
        unread
    }

    /// The findings of an input that is the only one of its run. What is reported once in a run is there once.
    pub(crate) fn alone(self, input: &Input) -> Vec<Finding> {
        let mut findings = self.read(input, None).findings;
        let mut known = Vec::new();
        findings.retain(|finding| {
            let is_first = !is_reported_once(finding) || !known.contains(&finding.rule);
            known.push(finding.rule);
            is_first
        });
        findings
    }

    /// Checks a text in the place of an input's.
    pub(crate) fn check(self, input: &Input, text: SourceText<'_>, across: Option<&OfInput>) -> CheckedText {
        let mut tally = Tally::default();
        let project = self.manifests.project(input);
        let manifest = Manifest {
            policy: &project.policy,
            policy_file: project.file.as_deref(),
            karpenter: self.manifests.karpenter_of(input),
            across,
            source: &text,
            is_named: input.is_named,
            is_json: !matches!(input.source, Source::Stored(_))
                && Path::new(&input.name)
                    .extension()
                    .is_some_and(|end| end == "json"),
        };
        let (mut findings, pools) = check(manifest, self.settings, &mut tally);
        if tally.of(Count::Objects) > 0 {
            tally
                .policies
                .insert(project.file.as_deref().map(terminal::clean));
        }
        findings.retain(|finding| self.selection.has(finding.rule));
        settle(manifest, self.settings, &mut findings);
        CheckedText {
            text: text.text,
            findings,
            tally,
            pools,
        }
    }
}

impl CheckedText {
    /// Adds that the file was not read or written, as its first finding.
    pub(crate) fn fail(&mut self, title: &str, help: Option<&str>) {
        self.tally.add(Count::Unreadable, 1);
        let finding = Finding {
            title: terminal::clean(title),
            suggestion: help.map(str::to_owned),
            ..Finding::at(text_rules::UNREADABLE, Severity::Error, SourceRange::beginning())
        };
        self.findings.insert(0, finding);
    }
}

/// Whether a cluster may have stored what a fix changes. It has no object that Karpenter rejects, and no field that its
/// definition lacks.
pub(crate) fn may_be_stored(finding: &Finding) -> bool {
    let is_dropped =
        finding.rule == "field-unknown" && finding.edit().is_some_and(|edit| edit.change == Change::Remove);
    finding.is_storable && !is_dropped
}
