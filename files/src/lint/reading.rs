//! One input, from its text to the findings that are reported.

use std::collections::BTreeSet;
use std::path::Path;

use poolgate_core::diagnostic::Severity;
use poolgate_core::pool::Template;

use super::args::LintArgs;
use super::check::{Manifest, check, settle};
use super::misnamed::CheckedPools;
use super::settings::Settings;
use super::together::Together;
use crate::edit::{self, Change, SourceRange, TextEdit};
use crate::format::finding::{self, Finding};
use crate::format::tally::{Count, Tally};
use crate::input::{Manifests, Unread};
use crate::sources::{Input, ReadError, Renderable, Source, SourceText};
use crate::terminal;
use crate::text_rules;

/// How often a fixed text is checked again for more to fix.
const MAX_ROUNDS: usize = 20;

/// What each input is checked with.
pub struct Reader<'a> {
    pub settings: Settings,
    pub manifests: Manifests,
    pub together: Together,
    /// What the input is rendered from, if it is.
    pub rendered: Option<Renderable>,
    pub args: &'a LintArgs,
}

/// A text with its findings: without those that are not selected. Its fixes are right.
#[derive(Default)]
pub struct Reading {
    pub text: String,
    pub findings: Vec<Finding>,
    pub tally: Tally,
    pub pools: CheckedPools,
    /// The text with its fixes, if they are only shown.
    pub shown: Option<String>,
    /// Messages besides the findings, one line each.
    pub remarks: Vec<String>,
}

impl Reader<'_> {
    /// Reads an input, and fixes it with --fix.
    pub fn read(&self, input: &Input) -> Reading {
        let mut reading = match self.manifests.read(input) {
            Ok(text) => self.checked(input, text),
            Err(Unread::NotText(_)) => {
                let mut reading = Reading::default();
                reading.tally.add(Count::NotText, 1);
                return reading;
            }
            Err(Unread::Failed(error)) => {
                let mut reading = Reading::default();
                let (what, help) = match &error {
                    ReadError::Foreign(language) => {
                        (format!("is {}", language.name()), Some(language.help()))
                    }
                    other => (other.to_string(), None),
                };
                reading.fail(&format!("{} {what}", input.name), help);
                return reading;
            }
        };
        if !self.args.fix {
            let edits = reading.findings.iter().filter_map(Finding::edit);
            let places: BTreeSet<_> = edits.map(|edit| edit.place.span).collect();
            reading.tally.add(Count::Fixable, places.len());
            return reading;
        }
        match (self.fixed(input, &reading), &input.source) {
            (Some(fixed), _) if self.args.instead.diff => {
                for (to, from) in [
                    (Count::Fixable, Count::Fixed),
                    (Count::Replacing, Count::Replacing),
                ] {
                    reading.tally.add(to, fixed.tally.of(from));
                }
                reading.shown = Some(fixed.text);
            }
            (Some(fixed), Source::File(path)) => match edit::replace(path, &fixed.text) {
                Ok(()) => reading = fixed,
                Err(error) => reading.fail(&format!("{} cannot be changed: {error}", input.name), None),
            },
            _ => {}
        }
        if self.args.writes_fixes() && reading.tally.is_reliable() {
            let left = finding::left(&input.name, &reading.findings);
            reading.remarks.extend(left);
        }
        reading
    }

    /// The text with every fix; `None` if there is none. The fixed text is checked again, because a report is bounded, and
    /// because a fix may show a mistake that it had hidden.
    fn fixed(&self, input: &Input, first: &Reading) -> Option<Reading> {
        let mut fixed: Option<Reading> = None;
        for _ in 0..MAX_ROUNDS {
            let last = fixed.as_ref().unwrap_or(first);
            let findings = last.findings.iter();
            let mut edits: Vec<(&TextEdit, bool)> = findings
                .filter_map(|finding| Some((finding.edit()?, may_be_stored(finding))))
                .collect();
            edits.sort_by_key(|(edit, _)| edit.place.span);
            edits.dedup_by(|(next, _), (edit, _)| next.place.span.start() < edit.place.span.end());
            if edits.is_empty() {
                break;
            }
            let text = edit::apply(
                &last.text,
                edits.iter().map(|(edit, _)| (edit.place.span, &*edit.text)),
            );
            // Of a value that was never stored, no node was made.
            let replacing = edits
                .iter()
                .filter(|(edit, is_stored)| *is_stored && Template::is_hashed(&edit.field));
            let counts = [(Count::Fixed, edits.len()), (Count::Replacing, replacing.count())];
            let mut next = self.checked(input, self.manifests.text(input, text));
            for (what, count) in counts {
                next.tally.add(what, last.tally.of(what) + count);
            }
            fixed = Some(next);
        }
        fixed
    }

    fn checked(&self, input: &Input, text: SourceText<'_>) -> Reading {
        let mut tally = Tally::default();
        let project = self.manifests.project(input);
        let manifest = Manifest {
            policy: &project.policy,
            policy_file: project.file.as_deref(),
            karpenter: self.manifests.karpenter_of(input),
            across: self.together.findings_in(input),
            source: &text,
            is_named: input.is_named,
            is_json: !matches!(input.source, Source::Stored(_))
                && Path::new(&input.name)
                    .extension()
                    .is_some_and(|end| end == "json"),
        };
        let (mut findings, pools) = check(manifest, &self.settings, &mut tally);
        if tally.of(Count::Objects) > 0 {
            tally
                .policies
                .insert(project.file.as_deref().map(terminal::clean));
        }
        findings.retain(|finding| self.args.selection.has(finding.rule));
        settle(manifest, &self.settings, &mut findings);
        if let Some(sources) = &self.rendered {
            for finding in &mut findings {
                trace(finding, sources);
            }
        }
        Reading {
            text: text.text,
            findings,
            tally,
            pools,
            ..Reading::default()
        }
    }
}

impl Reading {
    /// Adds that the file was not read or written, as its first finding.
    fn fail(&mut self, title: &str, help: Option<&str>) {
        self.tally.add(Count::Unreadable, 1);
        let finding = Finding {
            title: terminal::clean(title),
            suggestion: help.map(str::to_owned),
            ..Finding::at(text_rules::UNREADABLE, Severity::Error, SourceRange::beginning())
        };
        self.findings.insert(0, finding);
    }
}

/// Names the user's file that a finding in a rendered text belongs to. No edit of the text changes that file.
fn trace(finding: &mut Finding, sources: &Renderable) {
    let file = finding.source.as_deref().and_then(|said| sources.source(said));
    finding.source = file.clone().or(finding.source.take());
    finding.file = Some(file.unwrap_or_else(|| sources.entry()));
    finding.leave("the text is rendered");
}

/// Whether a cluster may have stored what a fix changes. It has no object that Karpenter rejects, and no field that its
/// definition lacks.
fn may_be_stored(finding: &Finding) -> bool {
    let is_dropped =
        finding.rule == "field-unknown" && finding.edit().is_some_and(|edit| edit.change == Change::Remove);
    finding.is_storable && !is_dropped
}
