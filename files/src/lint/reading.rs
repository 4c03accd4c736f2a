//! One input, from its text to the findings that are reported.

use std::collections::BTreeSet;

use poolgate_core::pool::Template;

use super::args::LintArgs;
use super::together::Together;
use crate::check::{CheckedText, Checker, Settings, may_be_stored};
use crate::edit::{self, TextEdit};
use crate::format::finding::{self, Finding};
use crate::format::tally::Count;
use crate::input::Manifests;
use crate::sources::{Input, Renderable, Source};

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

/// What is reported of an input.
#[derive(Default)]
pub struct Reading {
    pub checked: CheckedText,
    /// The text with its fixes, if they are only shown.
    pub shown: Option<String>,
    /// Messages besides the findings, one line each.
    pub remarks: Vec<String>,
}

impl Reader<'_> {
    /// Reads an input, and fixes it with --fix.
    pub fn read(&self, input: &Input) -> Reading {
        let checked = self.traced(self.checker().read(input, self.together.findings_in(input)));
        let mut reading = Reading {
            checked,
            ..Reading::default()
        };
        let checked = &mut reading.checked;
        if !self.args.fix {
            let edits = checked.findings.iter().filter_map(Finding::edit);
            let places: BTreeSet<_> = edits.map(|edit| edit.place.span).collect();
            checked.tally.add(Count::Fixable, places.len());
            return reading;
        }
        match (self.fixed(input, checked), &input.source) {
            (Some(fixed), _) if self.args.instead.diff => {
                for (to, from) in [
                    (Count::Fixable, Count::Fixed),
                    (Count::Replacing, Count::Replacing),
                ] {
                    checked.tally.add(to, fixed.tally.of(from));
                }
                reading.shown = Some(fixed.text);
            }
            (Some(fixed), Source::File(path)) => match edit::replace(path, &fixed.text) {
                Ok(()) => *checked = fixed,
                Err(error) => checked.fail(&format!("{} cannot be changed: {error}", input.name), None),
            },
            _ => {}
        }
        if self.args.writes_fixes() && reading.checked.tally.is_reliable() {
            let left = finding::left(&input.name, &reading.checked.findings);
            reading.remarks.extend(left);
        }
        reading
    }

    /// The text with every fix; `None` if there is none. The fixed text is checked again, because a report is bounded, and
    /// because a fix may show a mistake that it had hidden.
    fn fixed(&self, input: &Input, first: &CheckedText) -> Option<CheckedText> {
        let mut fixed: Option<CheckedText> = None;
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
            let text = self.manifests.text(input, text);
            let across = self.together.findings_in(input);
            let mut next = self.traced(self.checker().check(input, text, across));
            for (what, count) in counts {
                next.tally.add(what, last.tally.of(what) + count);
            }
            fixed = Some(next);
        }
        fixed
    }

    fn checker(&self) -> Checker<'_> {
        Checker {
            manifests: &self.manifests,
            settings: &self.settings,
            selection: &self.args.selection,
        }
    }

    /// The same with the user's files, if the text was rendered.
    fn traced(&self, mut checked: CheckedText) -> CheckedText {
        if let Some(sources) = &self.rendered {
            for finding in &mut checked.findings {
                trace(finding, sources);
            }
        }
        checked
    }
}

/// Names the user's file that a finding in a rendered text belongs to. No edit of the text changes that file.
fn trace(finding: &mut Finding, sources: &Renderable) {
    let file = finding.source.as_deref().and_then(|said| sources.source(said));
    finding.source = file.clone().or(finding.source.take());
    finding.file = Some(file.unwrap_or_else(|| sources.entry()));
    finding.leave("the text is rendered");
}
