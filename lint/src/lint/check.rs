//! From the text of a file to its findings.

use poolgate_core::diagnostic::{Diagnostic, ErrorType, FieldPath, Origin, Severity};
use poolgate_core::karpenter::{ReleaseSource, TargetKarpenter};
use poolgate_core::policy::Policy;
use poolgate_core::review::{Request, review};
use poolgate_core::rules::across::apply_policy;

use super::diagnosed::{as_written, is_about_the_whole, is_lowered, suggestion};
use super::finding::{Finding, Object};
use super::fix::{Change, TextEdit};
use super::note::{Note, Place};
use super::review_fixes::{Verdict, verdicts};
use super::settings::Settings;
use super::source_range::SourceRange;
use super::subjects::{Checked, Subjects};
use super::suppress::{Fate, Suppressions};
use super::tally::Tally;
use super::together::OfInput;
use super::{comments, json, notes, problem_rules, rendered, source_range, variables};
use crate::files::{Whole, clean};
use crate::text_rules;
use poolgate_core::json::Json;
use poolgate_core::manifest::{self, Document, LeftAlone, Lines, ManifestProblem, ProblemKind, Span};

/// How many findings of one file are kept. More would not be read, and a hostile file could have any number.
pub const MAX_KEPT: usize = 1000;

/// The group of NodePools: a text without it has none, unless it is written with escapes.
const MARK: &str = "karpenter.sh";

/// A field that only NodePools and NodeClaims have: finds those that lack their `apiVersion`.
const MARK_OF_SPEC: &str = "nodeClassRef";

/// A manifest that is checked.
#[derive(Debug, Clone, Copy)]
pub struct Manifest<'t> {
    pub text: &'t str,
    /// Whether its objects are complete.
    pub whole: Whole,
    /// Whether its name says that it is JSON.
    pub is_json: bool,
    /// The policy of its folder.
    pub policy: &'t Policy,
    /// The file of that policy; `None` for the built-in one.
    pub policy_file: Option<&'t str>,
    /// The Karpenter that the cluster runs.
    pub karpenter: &'t TargetKarpenter,
    /// Findings on its objects that depend on other objects.
    pub across: Option<&'t OfInput>,
}

/// Checks everything in a text, in its order. The caller counts the findings that are kept, `tally` the others.
pub fn check(manifest: Manifest<'_>, settings: &Settings, tally: &mut Tally) -> Vec<Finding> {
    let (text, is_marked) = (manifest.text, manifest.text.contains(MARK));
    if !is_marked && !text.contains(MARK_OF_SPEC) && !text.contains('\\') {
        return Vec::new();
    }
    let mut file = FileCheck {
        settings,
        manifest,
        lines: Lines::new(text),
        is_marked,
        is_template: false,
        findings: Vec::new(),
        tally,
    };
    for (number, document) in
        manifest::parse_with(text, &comments::limits(text), &settings.variables).enumerate()
    {
        file.is_template |= LeftAlone::is_template(&document);
        let first = file.findings.len();
        file.document(number, &document);
        file.attribute(first, &document);
    }
    if file.is_template {
        file.leave(0, &LeftAlone::Template.to_string());
    }
    if manifest.is_json {
        file.json();
    }
    let mut findings = file.findings;
    findings.sort_by_key(|finding| (finding.place.span.start(), finding.rule));
    findings
}

/// A file while it is checked.
struct FileCheck<'a, 't> {
    settings: &'a Settings,
    manifest: Manifest<'t>,
    lines: Lines<'t>,
    /// Whether it has a NodePool somewhere. Mistakes in the YAML of other objects are not reported.
    is_marked: bool,
    /// Whether it has lines of a template.
    is_template: bool,
    findings: Vec<Finding>,
    tally: &'a mut Tally,
}

impl FileCheck<'_, '_> {
    fn document(&mut self, number: usize, document: &Document<'_>) {
        if let Some(problem) = document.unreadable() {
            if self.is_marked {
                self.tally.limits += usize::from(problem.kind.is_limit());
                self.problem(problem, None);
            }
            return;
        }
        if LeftAlone::is_encrypted(document.value()) {
            self.tally.encrypted += 1;
            return;
        }
        let subjects = Subjects::find(document.value(), self.manifest.whole, self.manifest.karpenter);
        self.tally.others += subjects.others.len();
        self.tally.inside += subjects.inside;
        if subjects.is_empty() {
            return;
        }
        let object = match subjects.checked.as_slice() {
            [only] => Some(only.object()),
            _ => None,
        };
        let first = self.findings.len();
        for problem in document.problems() {
            self.problem(problem, object.as_ref());
        }
        self.tally.omitted += document.omitted_problems();
        for note in subjects.unserved {
            // It is not checked either: what its fields mean depends on the right kind and version.
            self.note(document, note, None);
        }
        for checked in &subjects.checked {
            self.object(number, document, checked);
            self.across(number, document, checked);
        }
        if let Some(note) = variables::note(document, self.manifest.text) {
            self.note(document, note, object.as_ref());
        }
        self.ignore(first, document, object.as_ref());
    }

    /// Reports where a file named `.json` is not JSON. kubectl reads it as YAML.
    fn json(&mut self) {
        let is_broken = |finding: &Finding| finding.rule == text_rules::SYNTAX;
        if self.tally.objects == 0 || self.findings.iter().any(is_broken) {
            return;
        }
        let Some((offset, why)) = json::mistake(self.manifest.text) else {
            return;
        };
        let place = self.located(source_range::within(
            self.manifest.text,
            Span::new(offset, offset + 1),
        ));
        self.keep(Severity::Warning, || json::finding(&why, place));
    }

    /// Adds a note of lint itself; the note on a guessed release only once in a file.
    fn note(&mut self, document: &Document<'_>, note: Note, object: Option<&Object>) {
        let is_reported = |finding: &Finding| finding.rule == text_rules::RELEASE;
        if note.rule == text_rules::RELEASE && self.findings.iter().any(is_reported) {
            return;
        }
        let (span, field, origin) = match note.place {
            Place::Field(field) => {
                let span = source_range::span_at(document, &field, &ErrorType::Required);
                (span, Some(field), Origin::Schema)
            }
            Place::Comment(span) => (span, None, Origin::Poolgate),
        };
        let place = self.located(span);
        let severity = text_rules::find(note.rule).map_or(Severity::Error, |rule| rule.severity);
        self.keep(severity, || Finding {
            origin,
            object: object.cloned(),
            field,
            message: clean(&note.message),
            suggestion: Some(clean(&note.suggestion)),
            ..Finding::of_manifest(note.rule, severity, place)
        });
    }

    /// Whether a value seems to be of the wrong type because a template's braces are read as mappings.
    fn is_of_template(
        &self,
        document: &Document<'_>,
        checked: &Checked<'_>,
        diagnostic: &Diagnostic,
    ) -> bool {
        let is_mistyped = matches!(diagnostic.error_type, ErrorType::Mistyped { .. });
        let value = || document.span_of(&checked.path_of(&diagnostic.path));
        is_mistyped && value().is_some_and(|span| span.slice(self.manifest.text).starts_with("{{"))
    }

    /// Removes the findings that comments of the document ignore. The findings of the document begin at `first`.
    fn ignore(&mut self, first: usize, document: &Document<'_>, object: Option<&Object>) {
        let suppressions = Suppressions::parse(document, self.manifest.text);
        let mut ignored = 0;
        for mut finding in self.findings.split_off(first) {
            match suppressions.fate(&finding) {
                Fate::Reported => {}
                Fate::Weakened => {
                    finding.severity = Severity::Warning;
                    finding.is_lowered = true;
                    finding
                        .message
                        .push_str(" (ignored by a comment, but Karpenter rejects it)");
                }
                Fate::Silent => {
                    ignored += 1;
                    continue;
                }
            }
            self.findings.push(finding);
        }
        self.tally.ignored += ignored;
        for mistake in suppressions.mistakes() {
            self.note(document, mistake, object);
        }
    }

    /// Adds to the findings of a document, which begin at `first`, the template they come from.
    fn attribute(&mut self, first: usize, document: &Document<'_>) {
        let findings = self.findings.get_mut(first..).unwrap_or_default();
        if findings.is_empty() {
            return;
        }
        let Some(template) = rendered::by_helm(document) else {
            return;
        };
        for finding in findings {
            finding.source.get_or_insert_with(|| template.clone());
        }
    }

    fn problem(&mut self, problem: &ManifestProblem, object: Option<&Object>) {
        let place = self.located(source_range::within(self.manifest.text, problem.span));
        let related = problem.related.map(|span| self.located(span));
        let rule = problem_rules::name(&problem.kind);
        let message = clean(&problem_rules::described(problem, self.manifest.text));
        let finding = || Finding {
            origin: match problem.kind {
                // kubectl keeps the last of the values.
                ProblemKind::DuplicateKey { .. } => Origin::Silent,
                _ => Origin::Schema,
            },
            object: object.cloned(),
            message,
            related: related.into_iter().collect(),
            ..Finding::of_manifest(rule, problem.kind.severity(), place)
        };
        self.keep(problem.kind.severity(), finding);
    }

    fn object(&mut self, number: usize, document: &Document<'_>, checked: &Checked<'_>) {
        self.tally.objects += 1;
        self.tally.parts += usize::from(self.manifest.whole == Whole::Part);
        let of_file = self.manifest.karpenter;
        let karpenter = self.settings.karpenter_for(of_file, checked.version());
        self.tally.releases.insert(karpenter.release());
        if Settings::is_guessed(of_file, checked.version()) {
            self.note(document, notes::guessed(checked, karpenter), None);
        }
        let is_completed = self.manifest.policy.cluster.completes();
        if of_file.source() == ReleaseSource::Newest && self.manifest.whole == Whole::Whole && !is_completed {
            self.tally.incomplete += usize::from(notes::lacks_consolidate_after(checked));
        }
        for note in notes::about(checked, self.manifest.whole, karpenter, is_completed) {
            self.note(document, note, Some(&checked.object()));
        }
        let reviewed = |object: &Json<'_>| {
            let request = Request {
                subject: checked.subject,
                object,
                old: None,
                claims: None,
                at: self.settings.at,
            };
            review(&request, self.manifest.policy, karpenter).report
        };
        let report = reviewed(checked.value);
        self.tally.pools.add(self.manifest.policy_file, checked, &report);
        for severity in [Severity::Error, Severity::Warning, Severity::Info] {
            self.omit(severity, report.omitted(severity));
        }
        if report.diagnostics().is_empty() {
            return;
        }
        let written = |path: &FieldPath| {
            let written = as_written(self.manifest.text, document, &checked.path_of(path))?;
            (!manifest::has_variable(&written)).then_some(written)
        };
        let is_possible = |path: &FieldPath, change: &Change| {
            let edit = self.edit(change.clone(), checked.path_of(path), (number, document));
            edit.is_ok()
        };
        let mut verdicts = verdicts(checked.value, &report, reviewed, written, is_possible);
        let first = self.findings.len();
        for diagnostic in report.diagnostics() {
            let is_elsewhere = self.manifest.whole == Whole::Part && is_about_the_whole(diagnostic);
            let is_open = !document.variables().is_empty() && variables::decide(diagnostic, checked.value);
            if is_elsewhere || is_open || self.is_of_template(document, checked, diagnostic) {
                continue;
            }
            if self.findings.len() < MAX_KEPT {
                let suggestion = diagnostic.suggestion.as_ref();
                let edit = suggestion.and_then(|suggestion| suggestion.edit.as_ref());
                let verdict = edit.and_then(|_| verdicts.remove(&diagnostic.path));
                let finding = self.finding((number, document), checked, diagnostic, verdict);
                self.findings.push(finding);
            } else {
                self.omit(diagnostic.severity, 1);
            }
        }
        if self.manifest.whole == Whole::Part {
            self.leave(first, "a kustomization names the file as a patch");
        } else if let Some(reason) = LeftAlone::by_edits(document.value(), checked.value) {
            self.leave(first, &reason.to_string());
        }
    }

    /// Adds the findings on an object that depend on other objects.
    fn across(&mut self, number: usize, document: &Document<'_>, checked: &Checked<'_>) {
        let key = (number, checked.path.clone());
        let of_object = self.manifest.across.and_then(|across| across.get(&key));
        for across in of_object.into_iter().flatten() {
            let diagnostic = across.diagnostic.clone();
            let Some(diagnostic) =
                apply_policy(diagnostic, checked.value, self.manifest.policy, self.settings.at)
            else {
                continue;
            };
            let finding = Finding {
                elsewhere: across.others.clone(),
                ..self.finding((number, document), checked, &diagnostic, None)
            };
            self.keep(diagnostic.severity, || finding);
        }
    }

    /// Leaves what could be fixed to the author, from the finding `first` on.
    fn leave(&mut self, first: usize, reason: &str) {
        for finding in self.findings.iter_mut().skip(first) {
            if finding.edit.take().is_some() {
                finding.left = Some(reason.to_owned());
            }
        }
    }

    fn finding(
        &self,
        (number, document): (usize, &Document<'_>),
        checked: &Checked<'_>,
        diagnostic: &Diagnostic,
        verdict: Option<Verdict>,
    ) -> Finding {
        let field = checked.path_of(&diagnostic.path);
        let span = source_range::span_at(document, &field, &diagnostic.error_type);
        let related_fields: Vec<FieldPath> = diagnostic
            .related
            .iter()
            .map(|path| checked.path_of(path))
            .collect();
        let related = related_fields.iter().filter_map(|path| document.span_of(path));
        let related = related.filter(|span| !span.is_empty());
        let related = related.map(|span| self.located(span)).collect();
        let written = || as_written(self.manifest.text, document, &field);
        let suggestion = suggestion(diagnostic, verdict.as_ref(), written);
        let (edit, left) = match verdict {
            Some(Verdict::Passes(change)) => match self.edit(change, field.clone(), (number, document)) {
                Ok(edit) => (Some(edit), None),
                Err(reason) => (None, Some(reason.to_owned())),
            },
            Some(Verdict::Left(reason)) => (None, Some(reason.to_owned())),
            _ => (None, None),
        };
        Finding {
            place: self.located(span),
            severity: diagnostic.severity,
            origin: diagnostic.origin,
            is_lowered: is_lowered(diagnostic),
            rule: diagnostic.rule.as_str(),
            object: Some(checked.object()),
            source: rendered::by_kustomize(checked.value),
            field: Some(field),
            message: clean(&format!("{}: {}", diagnostic.error_type, diagnostic.reason)),
            suggestion: suggestion.as_deref().map(clean),
            edit,
            left,
            related,
            related_fields,
            elsewhere: Vec::new(),
        }
    }

    fn edit(
        &self,
        change: Change,
        field: FieldPath,
        document: (usize, &Document<'_>),
    ) -> Result<TextEdit, &'static str> {
        TextEdit::new(change, field, document, self.manifest.text, &self.lines)
    }

    fn keep(&mut self, severity: Severity, finding: impl FnOnce() -> Finding) {
        if self.findings.len() < MAX_KEPT {
            self.findings.push(finding());
        } else {
            self.omit(severity, 1);
        }
    }

    fn omit(&mut self, severity: Severity, count: usize) {
        self.tally.count(severity, count);
        self.tally.omitted += count;
    }

    fn located(&self, span: Span) -> SourceRange {
        source_range::located(span, &self.lines)
    }
}
