//! From a text to its findings.

use std::collections::{HashMap, HashSet};

use poolgate_core::diagnostic::{Diagnostic, ErrorType, FieldPath, Severity};
use poolgate_core::facts::{ReleaseSource, TargetKarpenter};
use poolgate_core::policy::Policy;
use poolgate_core::review::{Request, Subject, review, review_file};
use poolgate_core::rules::across::apply_policy;

use super::diagnosed::{
    as_written, change, is_about_the_whole, is_rejected, is_storable, problem_rule, problem_title, suggestion,
};
use super::fixes::{Reviewed, Tried};
use super::misnamed::CheckedPools;
use super::note::{Note, Place};
use super::notes;
use super::settings::Settings;
use super::subjects::{Checked, Subjects};
use super::suppress::{Fate, IGNORED, Suppressions, limits};
use crate::edit::{self, SourceRange, TextEdit};
use crate::format::finding::{Elsewhere, Finding, Fix, Object, Related};
use crate::format::tally::{Count, Tally};
use crate::sources::{
    Class, LeftAlone, SourceDocument, SourceText, Template, Templates, Whole, depends_on_variable, origin,
};
use crate::terminal::clean;
use crate::text_rules;
use poolgate_core::json::Json;
use poolgate_core::manifest::{self, Document, Lines, ManifestProblem, ProblemKind, Span};

/// How many findings of one file are kept. More would not be read, and a hostile file could have any number.
pub const MAX_KEPT: usize = 1000;

/// The group of NodePools: a text without it has none, unless it is written with escapes.
const MARK: &str = "karpenter.sh";

/// The one kind that Karpenter reads of another group.
const MARK_OF_BUFFERS: &str = "CapacityBuffer";

/// A field that only NodePools and NodeClaims have: finds those that lack their `apiVersion`.
const MARK_OF_SPEC: &str = "nodeClassRef";

/// The field of a kustomization's patches, and the kinds that a patch without a group is for.
const MARK_OF_PATCHES: &str = "patches";
const KINDS: [&str; 2] = ["NodePool", "NodeClaim"];

/// The findings of one input that depend on other objects, by the number of the document and the path of the object in it.
pub type OfInput = HashMap<(usize, FieldPath), Vec<Across>>;

/// A finding on one object that depends on others.
#[derive(Debug)]
pub struct Across {
    pub diagnostic: Diagnostic,
    pub others: Vec<Elsewhere>,
}

/// A manifest that is checked.
#[derive(Debug, Clone, Copy)]
pub struct Manifest<'t> {
    pub source: &'t SourceText<'t>,
    /// Whether the user named it; else it was found in a folder.
    pub is_named: bool,
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

impl<'t> Manifest<'t> {
    fn text(&self) -> &'t str {
        &self.source.text
    }
}

/// Checks everything in a text, in its order. Also returns its NodePools. The caller counts the findings that are kept, `tally` the others.
pub fn check(manifest: Manifest<'_>, settings: &Settings, tally: &mut Tally) -> (Vec<Finding>, CheckedPools) {
    let text = manifest.text();
    let has_patches = || text.contains(MARK_OF_PATCHES) && KINDS.iter().any(|kind| text.contains(kind));
    let marks = [MARK, MARK_OF_SPEC, MARK_OF_BUFFERS, "\\"];
    if !marks.iter().any(|mark| text.contains(mark)) && !has_patches() {
        return Default::default();
    }
    let mut file = FileCheck::new(manifest, settings, tally);
    for document in manifest.source.documents(&limits(text)) {
        let first = file.findings.len();
        file.document(&document);
        file.attribute(first, &document.document);
    }
    if file.is_template {
        file.leave(0, &LeftAlone::Template.to_string());
    }
    if manifest.is_json {
        file.json();
    }
    let mut findings = file.findings;
    findings.sort_by_key(|finding| (finding.place.span.start(), finding.rule));
    (findings, file.pools)
}

/// Leaves each fix of these findings to its author that is not right.
pub fn settle(manifest: Manifest<'_>, settings: &Settings, findings: &mut [Finding]) {
    let is_open = |finding: &Finding| finding.fix.edit().is_some();
    if !findings.iter().any(is_open) {
        return;
    }
    let text = manifest.text();
    let lines = Lines::new(text);
    let documents = manifest.source.documents(&limits(text));
    let mut documents = documents.peekable();
    let mut start = 0;
    while let Some(source) = documents.next() {
        let (number, document) = (source.number, &source.document);
        let own = document.span();
        let is_own = |finding: &&mut Finding| finding.fix.edit().is_some_and(|edit| edit.document == number);
        let (end, next) = match documents.peek() {
            None => (text.len(), text.len()),
            Some(next) if next.document.unreadable().is_some() => (own.end(), next.document.span().start()),
            Some(next) => (next.document.span().start(), next.document.span().start()),
        };
        let fixes: Vec<&mut Finding> = findings.iter_mut().filter(is_own).collect();
        if !fixes.is_empty() {
            let review = |text: &str, meant: &Json<'_>| {
                let source = SourceText {
                    text: text.to_owned(),
                    templates: Templates::new(),
                    ..*manifest.source
                };
                let manifest = Manifest {
                    source: &source,
                    ..manifest
                };
                reviewed(manifest, settings, (number, document), meant)
            };
            let (lines, review) = (&lines, &review);
            Tried {
                text,
                lines,
                start,
                end,
                number,
                document,
                review,
            }
            .settle(fixes);
        }
        // Comments above a document belong to it.
        start = if document.unreadable().is_some() {
            next
        } else {
            own.end()
        };
    }
}

/// The findings of a text that takes the place of a document; `None` if it is not one document with this value.
fn reviewed(
    manifest: Manifest<'_>,
    settings: &Settings,
    (number, before): (usize, &Document<'_>),
    meant: &Json<'_>,
) -> Option<Reviewed> {
    let mut tally = Tally::default();
    let mut file = FileCheck::new(manifest, settings, &mut tally);
    let limits = limits(manifest.text());
    let mut documents = manifest.source.documents(&limits);
    let source = SourceDocument {
        number,
        ..documents.next()?
    };
    let document = &source.document;
    let is_meant = document.value() == meant && document.problems().len() <= before.problems().len();
    if !is_meant || documents.next().is_some() {
        return None;
    }
    file.document(&source);
    let findings = file.findings;
    Some(Reviewed {
        findings,
        unseen: tally.of(Count::Errors),
    })
}

/// A file while it is checked.
struct FileCheck<'a, 't> {
    settings: &'a Settings,
    manifest: Manifest<'t>,
    lines: Lines<'t>,
    /// Whether it has lines of a template.
    is_template: bool,
    findings: Vec<Finding>,
    pools: CheckedPools,
    tally: &'a mut Tally,
}

impl<'a, 't> FileCheck<'a, 't> {
    fn new(manifest: Manifest<'t>, settings: &'a Settings, tally: &'a mut Tally) -> Self {
        Self {
            settings,
            manifest,
            lines: Lines::new(manifest.text()),
            is_template: false,
            findings: Vec::new(),
            pools: CheckedPools::default(),
            tally,
        }
    }

    fn document(&mut self, source: &SourceDocument<'_>) {
        let document = &source.document;
        match source.class {
            Class::Template(template) => return self.template(&template),
            Class::Broken => return self.broken(document),
            Class::Unrelated => return,
            Class::Encrypted => return self.tally.add(Count::Encrypted, 1),
            Class::HelmTemplate => {
                self.is_template = true;
                if document.unreadable().is_some() {
                    return self.broken(document);
                }
            }
            Class::Patch | Class::Objects => {}
        }
        if let Some(note) = notes::text_instead_of_object(document, self.manifest.text()) {
            self.note(document, note, None);
            return;
        }
        let subjects = Subjects::find(document.value(), self.whole(), self.manifest.karpenter);
        self.tally.add(Count::Others, subjects.others.len());
        self.tally.add(Count::Inside, subjects.inside);
        self.tally.add(Count::InlinePatches, subjects.inline_patches);
        if subjects.is_empty() {
            return;
        }
        let object = match subjects.checked.as_slice() {
            [only] => Some(only.object()),
            _ => None,
        };
        let first = self.findings.len();
        for problem in document.problems() {
            if !self.is_named_already(problem) {
                self.problem(problem, object.as_ref());
            }
        }
        self.tally.add(Count::Omitted, document.omitted_problems());
        for note in subjects.unserved {
            // It is not checked either: what its fields mean depends on the right kind and version.
            self.note(document, note, None);
        }
        for checked in &subjects.checked {
            self.object(source, checked);
            self.across(source, checked);
        }
        if let Some(note) = notes::variables(document, self.manifest.text()) {
            self.note(document, note, object.as_ref());
        }
        self.ignore(first, document, object.as_ref());
    }

    /// Reports a document that cannot be read.
    fn broken(&mut self, document: &Document<'_>) {
        let Some(problem) = document.unreadable() else {
            return;
        };
        if !self.is_named_already(problem) {
            self.tally
                .add(Count::Unread, usize::from(problem.kind.is_limit()));
            self.problem(problem, None);
        }
    }

    /// Reports a document that is a template: nothing of it is checked.
    fn template(&mut self, template: &Template) {
        self.is_template = true;
        self.tally.add(Count::Unread, 1);
        let place = self.located(edit::within(self.manifest.text(), template.mark));
        let language = template.language;
        self.keep(Severity::Error, || Finding {
            title: format!("this document is {}", language.name()),
            consequence: Some("it is not checked".to_owned()),
            suggestion: Some(language.help().to_owned()),
            ..Finding::at(text_rules::UNREADABLE, Severity::Error, place)
        });
    }

    /// Whether the file has been reported as a template: each of its lines would say the same.
    fn is_named_already(&self, problem: &ManifestProblem) -> bool {
        let is_template = |finding: &Finding| finding.rule == text_rules::TEMPLATE;
        matches!(problem.kind, ProblemKind::Template { .. }) && self.findings.iter().any(is_template)
    }

    /// Reports where a file named `.json` is not JSON. kubectl reads it as YAML.
    fn json(&mut self) {
        let is_broken = |finding: &Finding| finding.rule == text_rules::SYNTAX;
        if self.tally.of(Count::Objects) == 0 || self.findings.iter().any(is_broken) {
            return;
        }
        let Some((offset, why)) = notes::json_mistake(self.manifest.text()) else {
            return;
        };
        let place = self.located(edit::within(self.manifest.text(), Span::new(offset, offset + 1)));
        self.keep(Severity::Warning, || notes::not_json(&why, place));
    }

    /// Adds a note of lint itself; the note on a guessed release only once in a file.
    fn note(&mut self, document: &Document<'_>, note: Note, object: Option<&Object>) {
        let is_reported = |finding: &Finding| finding.rule == text_rules::RELEASE;
        if note.rule == text_rules::RELEASE && self.findings.iter().any(is_reported) {
            return;
        }
        let severity = text_rules::find(note.rule).map_or(Severity::Error, |rule| rule.severity);
        if !self.has_room(severity) {
            return;
        }
        let (span, field) = match note.place {
            Place::Field(field) => {
                let span = edit::span_at(document, &field, &ErrorType::Required);
                (span, Some(field))
            }
            Place::Text(span) => (span, None),
        };
        let place = self.located(span);
        self.findings.push(Finding {
            // No API server stores an object with such a field.
            is_rejected: field.is_some() && severity == Severity::Error,
            object: object.cloned(),
            field,
            title: clean(&note.message),
            suggestion: Some(clean(&note.suggestion)),
            ..Finding::at(note.rule, severity, place)
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
        is_mistyped && value().is_some_and(|span| span.slice(self.manifest.text()).starts_with("{{"))
    }

    /// Removes the findings that comments of the document ignore. The findings of the document begin at `first`.
    fn ignore(&mut self, first: usize, document: &Document<'_>, object: Option<&Object>) {
        let suppressions = Suppressions::parse(document, self.manifest.text());
        let mut ignored = 0;
        for mut finding in self.findings.split_off(first) {
            match suppressions.fate(&finding) {
                Fate::Reported => {}
                Fate::Weakened => {
                    finding.severity = Severity::Warning;
                    finding.title.push_str(IGNORED);
                }
                Fate::Silent => {
                    ignored += 1;
                    continue;
                }
            }
            self.findings.push(finding);
        }
        self.tally.add(Count::Ignored, ignored);
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
        let Some(template) = origin::by_helm(document) else {
            return;
        };
        for finding in findings {
            finding.source.get_or_insert_with(|| template.clone());
        }
    }

    fn problem(&mut self, problem: &ManifestProblem, object: Option<&Object>) {
        let place = self.located(edit::within(self.manifest.text(), problem.span));
        let related = problem.related.map(|span| Related {
            field: FieldPath::root(),
            place: self.located(span),
        });
        let rule = problem_rule(&problem.kind);
        let severity = match problem.kind {
            // A folder may hold templates beside manifests.
            ProblemKind::Template { .. } if !self.manifest.is_named => Severity::Note,
            _ => problem.kind.severity(),
        };
        // kubectl keeps the last of the values.
        let is_taken = matches!(problem.kind, ProblemKind::DuplicateKey { .. });
        let (title, help) = problem_title(problem, self.manifest.text());
        self.keep(severity, || Finding {
            is_rejected: severity == Severity::Error && !is_taken,
            object: object.cloned(),
            title: clean(&title),
            consequence: problem.kind.consequence().map(str::to_owned),
            suggestion: help.map(str::to_owned),
            related: related.into_iter().collect(),
            ..Finding::at(rule, severity, place)
        });
    }

    fn object(&mut self, source: &SourceDocument<'_>, checked: &Checked<'_>) {
        let document = &source.document;
        let is_other = matches!(checked.subject, Subject::Other(_));
        let count = if is_other {
            Count::OtherKinds
        } else {
            Count::Objects
        };
        self.tally.add(count, 1);
        let is_claim = matches!(checked.subject, Subject::NodeClaim(_));
        self.tally.add(Count::Claims, usize::from(is_claim));
        self.tally
            .add(Count::Parts, usize::from(self.whole() == Whole::Part));
        let of_file = self.manifest.karpenter;
        let karpenter = self.settings.karpenter_for(of_file, checked.version());
        self.tally.releases.insert(karpenter.into());
        if Settings::is_guessed(of_file, checked.version()) {
            self.note(document, notes::guessed(checked, karpenter), None);
        }
        let is_completed = self.manifest.policy.cluster.completes();
        if of_file.source() == ReleaseSource::Newest && self.whole() == Whole::Whole && !is_completed {
            let is_incomplete = notes::lacks_consolidate_after(checked);
            self.tally.add(Count::Incomplete, usize::from(is_incomplete));
        }
        for note in notes::about(checked, self.whole(), karpenter, is_completed) {
            self.note(document, note, Some(&checked.object()));
        }
        let request = Request {
            subject: checked.subject,
            object: checked.value,
            old: None,
            claims: None,
            at: self.settings.at,
        };
        // The API server completes the whole, not a part of it.
        let reviewed = match self.whole() {
            Whole::Whole => review_file(&request, self.manifest.policy, karpenter),
            Whole::Part => review(&request, self.manifest.policy, karpenter),
        };
        let report = reviewed.report;
        self.pools.add(self.manifest.policy_file, checked, &report);
        for severity in [Severity::Error, Severity::Warning, Severity::Note] {
            self.omit(severity, report.omitted(severity));
        }
        let mut fixed = HashSet::new();
        let first = self.findings.len();
        for diagnostic in report.diagnostics() {
            let is_elsewhere = self.whole() == Whole::Part && is_about_the_whole(diagnostic);
            let is_open = !document.variables().is_empty() && depends_on_variable(diagnostic, checked.value);
            if is_elsewhere || is_open || self.is_of_template(document, checked, diagnostic) {
                continue;
            }
            if self.findings.len() < MAX_KEPT {
                let mut finding = self.finding(document, checked, diagnostic);
                if let Some(fix) = self.fix(source, checked, diagnostic)
                    && fixed.insert(&diagnostic.path)
                {
                    finding.fix = fix;
                }
                self.findings.push(finding);
            } else {
                self.omit(diagnostic.severity, 1);
            }
        }
        if let Some(reason) = source.edits_left(checked.value) {
            self.leave(first, &reason.to_string());
        }
    }

    /// Adds the findings on an object that depend on other objects.
    fn across(&mut self, source: &SourceDocument<'_>, checked: &Checked<'_>) {
        let document = &source.document;
        let key = (source.number, checked.path.clone());
        let of_object = self.manifest.across.and_then(|across| across.get(&key));
        for across in of_object.into_iter().flatten() {
            let diagnostic = across.diagnostic.clone();
            let Some(diagnostic) =
                apply_policy(diagnostic, checked.value, self.manifest.policy, self.settings.at)
            else {
                continue;
            };
            if self.has_room(diagnostic.severity) {
                let finding = Finding {
                    elsewhere: across.others.clone(),
                    ..self.finding(document, checked, &diagnostic)
                };
                self.findings.push(finding);
            }
        }
    }

    /// Leaves what could be fixed to the author, from the finding `first` on.
    fn leave(&mut self, first: usize, reason: &str) {
        for finding in self.findings.iter_mut().skip(first) {
            finding.leave(reason);
        }
    }

    fn finding(&self, document: &Document<'_>, checked: &Checked<'_>, diagnostic: &Diagnostic) -> Finding {
        let field = checked.path_of(&diagnostic.path);
        let span = edit::span_at(document, &field, &diagnostic.error_type);
        let related = diagnostic.related.iter().filter_map(|path| {
            let field = checked.path_of(path);
            let span = document.span_of(&field).filter(|span| !span.is_empty())?;
            let place = self.located(span);
            Some(Related { field, place })
        });
        let written = || as_written(self.manifest.text(), document, &field);
        Finding {
            rule: diagnostic.rule.as_str(),
            severity: diagnostic.severity,
            is_rejected: is_rejected(diagnostic),
            is_storable: is_storable(diagnostic),
            object: Some(checked.object()),
            source: origin::by_kustomize(checked.value),
            file: None,
            place: self.located(span),
            value: diagnostic.error_type.value().as_deref().map(clean),
            title: clean(&diagnostic.title),
            consequence: diagnostic.consequence.as_deref().map(clean),
            remark: (!diagnostic.remarks.is_empty()).then(|| clean(&diagnostic.remarks.join("; "))),
            suggestion: suggestion(diagnostic, written).as_deref().map(clean),
            fix: Fix::None,
            related: related.collect(),
            elsewhere: Vec::new(),
            field: Some(field),
        }
    }

    /// A possible fix of a finding. It must be tried before it is known to be right.
    fn fix(
        &self,
        source: &SourceDocument<'_>,
        checked: &Checked<'_>,
        diagnostic: &Diagnostic,
    ) -> Option<Fix> {
        let text = self.manifest.text();
        let document = (source.number, &source.document);
        let written = |path: &FieldPath| {
            let written = as_written(text, document.1, &checked.path_of(path))?;
            (!manifest::has_variable(&written)).then_some(written)
        };
        let change = change(diagnostic, checked.value, written)?;
        let field = checked.path_of(&diagnostic.path);
        let edit = TextEdit::new(change.clone(), field.clone(), document, text, &self.lines);
        let left = |why: &str| Fix::Left {
            why: why.to_owned(),
            untried: TextEdit::of_alias(change, field, document, &self.lines),
        };
        Some(edit.map_or_else(left, Fix::Write))
    }

    /// Whether the objects of the text are complete.
    fn whole(&self) -> Whole {
        self.manifest.source.whole
    }

    fn keep(&mut self, severity: Severity, finding: impl FnOnce() -> Finding) {
        if self.has_room(severity) {
            self.findings.push(finding());
        }
    }

    /// Whether another finding is kept. If not, it is counted: to locate it would be for nothing.
    fn has_room(&mut self, severity: Severity) -> bool {
        let has_room = self.findings.len() < MAX_KEPT;
        if !has_room {
            self.omit(severity, 1);
        }
        has_room
    }

    fn omit(&mut self, severity: Severity, count: usize) {
        self.tally.add_findings(severity, count);
        self.tally.add(Count::Omitted, count);
    }

    fn located(&self, span: Span) -> SourceRange {
        edit::located(span, &self.lines)
    }
}
