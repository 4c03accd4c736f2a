//! The text of a file to its findings.

use poolgate_core::diagnostic::{Diagnostic, FieldPath, Fix, Origin, Problem, Segment, Severity};
use poolgate_core::karpenter::{ApiVersion, Karpenter, KarpenterVersion, ReleaseSource};
use poolgate_core::policy::Policy;
use poolgate_core::review::{Request, review};
use poolgate_core::rules;
use serde_json::Value;

use super::finding::{Finding, Object};
use super::fix::{Change, Edit, Target};
use super::review_fixes::{Verdict, verdicts};
use super::source_range::SourceRange;
use super::subjects::{Judged, Look, Subjects};
use super::suppress::{Fate, Mistake, Suppressions};
use super::tally::Tally;
use super::unserved::Unserved;
use super::{problem_rules, rendered, source_range};
use crate::files::{Whole, clean};
use crate::manifest::{self, Document, LeftAlone, Limits, Lines, ManifestProblem, ProblemKind, Span};

/// How many findings of one file are kept. Nobody reads more, and a file can be made of nothing else.
pub(super) const MAX_KEPT: usize = 1000;

/// The group of NodePools: a text without it holds none, unless it is written with escapes.
const MARK: &str = "karpenter.sh";

/// A field that only NodePools and NodeClaims have: one that lacks its `apiVersion` holds it.
const MARK_OF_SPEC: &str = "nodeClassRef";

/// What objects are judged by.
#[derive(Debug)]
pub(super) struct Judge {
    pub(super) policy: Policy,
    pub(super) karpenter: Karpenter,
    /// For v1beta1 where nobody says which release the cluster runs: the last one that serves it.
    last_of_v1beta1: Karpenter,
}

impl Judge {
    pub(super) fn new(policy: Policy, karpenter: Karpenter) -> Self {
        Self {
            policy,
            karpenter,
            last_of_v1beta1: KarpenterVersion::LAST_OF_V1BETA1.into(),
        }
    }

    /// Whether an object of this version is judged for a release that nobody has named.
    fn is_guessed(&self, version: ApiVersion) -> bool {
        version == ApiVersion::V1Beta1 && self.karpenter.source() == ReleaseSource::Newest
    }

    /// What an object of this version is judged for.
    fn karpenter_for(&self, version: ApiVersion) -> &Karpenter {
        if self.is_guessed(version) {
            &self.last_of_v1beta1
        } else {
            &self.karpenter
        }
    }
}

/// Judges all that `text` holds, in the order of the text. What is kept is counted by the caller, what is not by
/// `tally`.
pub(super) fn check(text: &str, whole: Whole, judge: &Judge, tally: &mut Tally) -> Vec<Finding> {
    let is_marked = text.contains(MARK);
    if !is_marked && !text.contains(MARK_OF_SPEC) && !text.contains('\\') {
        return Vec::new();
    }
    let mut file = FileCheck {
        judge,
        whole,
        text,
        lines: Lines::new(text),
        is_marked,
        is_template: false,
        findings: Vec::new(),
        tally,
    };
    for (number, document) in manifest::parse(text, &Limits::default()).enumerate() {
        file.is_template |= LeftAlone::is_template(&document);
        let first = file.findings.len();
        file.document(number, &document);
        file.attribute(first, &document);
    }
    if file.is_template {
        file.leave(0, &LeftAlone::Template.to_string());
    }
    let mut findings = file.findings;
    findings.sort_by_key(|finding| (finding.place.span.start(), finding.rule));
    findings
}

/// A file while it is gone through.
struct FileCheck<'a, 't> {
    judge: &'a Judge,
    whole: Whole,
    text: &'t str,
    lines: Lines<'t>,
    /// Whether a NodePool stands in it somewhere. Mistakes in the YAML of anything else are not poolgate's to tell.
    is_marked: bool,
    /// Whether lines of a template stand in it.
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
        let look = Look {
            whole: self.whole,
            karpenter: &self.judge.karpenter,
        };
        let subjects = Subjects::of(document.value(), look);
        self.tally.others += subjects.others;
        if subjects.is_empty() {
            return;
        }
        let object = match subjects.judged.as_slice() {
            [only] => Some(only.object()),
            _ => None,
        };
        let first = self.findings.len();
        for problem in document.problems() {
            self.problem(problem, object.as_ref());
        }
        self.tally.omitted += document.omitted_problems();
        for unserved in subjects.unserved {
            self.unserved(document, unserved);
        }
        for judged in &subjects.judged {
            self.object(number, document, judged);
        }
        self.ignore(first, document, object.as_ref());
    }

    /// An object that is not served is not judged, either: what its fields mean depends on what it becomes.
    fn unserved(&mut self, document: &Document<'_>, unserved: Unserved) {
        let object = unserved.object;
        let field = unserved.field.map(|field| object.clone().key(field));
        let written = field
            .iter()
            .cloned()
            .chain(["apiVersion", "kind", "metadata", "spec"].map(|key| object.clone().key(key)));
        let mut places = written.filter_map(|field| {
            let place = document.locate(&field)?;
            (!place.value.is_empty()).then_some(place)
        });
        let span = match (places.next(), &field) {
            (Some(place), Some(field)) if document.locate(field) == Some(place) => place.value,
            (Some(place), _) => place.key.unwrap_or(place.value),
            (None, _) => document.span_of(&object).unwrap_or_else(|| document.span()),
        };
        let place = self.located(span);
        self.keep(Severity::Error, || Finding {
            message: clean(&unserved.message),
            suggestion: Some(clean(&unserved.suggestion)),
            field,
            ..Finding::of_manifest(problem_rules::KIND, Severity::Error, place)
        });
    }

    /// Says, once in a file, for which release an object is judged that nobody has named.
    fn guess(&mut self, document: &Document<'_>, judged: &Judged<'_>) {
        let is_told = |finding: &Finding| finding.rule == problem_rules::RELEASE;
        if !self.judge.is_guessed(judged.version()) || self.findings.iter().any(is_told) {
            return;
        }
        let field = judged.path.clone().key("apiVersion");
        let span = document.span_of(&field).unwrap_or_else(|| document.span());
        let place = self.located(span);
        let release = self.judge.last_of_v1beta1.release();
        self.keep(Severity::Info, || Finding {
            field: Some(field),
            message: format!(
                "karpenter.sh/v1beta1 is judged for Karpenter {release}: 1.0 is the last line that serves it"
            ),
            suggestion: Some("say with --karpenter-version what the cluster runs".into()),
            ..Finding::of_manifest(problem_rules::RELEASE, Severity::Info, place)
        });
    }

    /// Takes out what comments of the document ignore, of its findings, which begin at `first`.
    fn ignore(&mut self, first: usize, document: &Document<'_>, object: Option<&Object>) {
        let suppressions = Suppressions::of(document, self.text);
        let mut ignored = 0;
        for mut finding in self.findings.split_off(first) {
            match suppressions.fate(&finding) {
                Fate::Told => {}
                Fate::Weakened => {
                    finding.severity = Severity::Warning;
                    finding.is_lowered = true;
                    finding
                        .message
                        .push_str(" (ignored by a comment, but Karpenter refuses it)");
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
            let place = self.located(mistake.span);
            self.keep(mistake.severity, || told(&mistake, place, object));
        }
    }

    /// Says of the findings of a document, which begin at `first`, which template they come from.
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
        let place = self.located(self.within(problem.span));
        let related = problem.related.map(|span| self.located(span));
        let rule = problem_rules::name(&problem.kind);
        let finding = || Finding {
            origin: match problem.kind {
                // kubectl keeps the last of the values.
                ProblemKind::DuplicateKey { .. } => Origin::Silent,
                _ => Origin::Schema,
            },
            object: object.cloned(),
            message: clean(&problem.to_string()),
            related: related.into_iter().collect(),
            ..Finding::of_manifest(rule, problem.kind.severity(), place)
        };
        self.keep(problem.kind.severity(), finding);
    }

    fn object(&mut self, number: usize, document: &Document<'_>, judged: &Judged<'_>) {
        self.tally.objects += 1;
        self.tally.parts += usize::from(self.whole == Whole::Part);
        self.guess(document, judged);
        let request = Request {
            subject: judged.subject,
            object: judged.value,
            old: None,
            claims: None,
        };
        let reviewed = |object: &Value| {
            let request = Request { object, ..request };
            review(
                &request,
                &self.judge.policy,
                self.judge.karpenter_for(judged.version()),
            )
            .report
        };
        let report = reviewed(judged.value);
        for severity in [Severity::Error, Severity::Warning, Severity::Info] {
            self.omit(severity, report.omitted(severity));
        }
        if report.diagnostics().is_empty() {
            return;
        }
        let written = |path: &FieldPath| as_written(self.text, document, &judged.path_of(path));
        let is_possible = |path: &FieldPath, change: &Change| {
            let target = self.target(number, document);
            Edit::of(change.clone(), judged.path_of(path), target).is_ok()
        };
        let mut verdicts = verdicts(judged.value, &report, reviewed, written, is_possible);
        let first = self.findings.len();
        let object = judged.object();
        for diagnostic in report.diagnostics() {
            if self.whole == Whole::Part && is_about_the_whole(diagnostic) {
                continue;
            }
            if self.findings.len() < MAX_KEPT {
                let verdict = diagnostic
                    .fix
                    .as_ref()
                    .and_then(|_| verdicts.remove(&diagnostic.path));
                let finding = self.finding((number, document), judged, &object, diagnostic, verdict);
                self.findings.push(finding);
            } else {
                self.omit(diagnostic.severity, 1);
            }
        }
        if self.whole == Whole::Part {
            self.leave(first, "a kustomization names the file as a patch");
        } else if let Some(reason) = LeftAlone::of(document.value(), judged.value) {
            self.leave(first, &reason.to_string());
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
        judged: &Judged<'_>,
        object: &Object,
        diagnostic: &Diagnostic,
        verdict: Option<Verdict>,
    ) -> Finding {
        let field = judged.path_of(&diagnostic.path);
        let span = source_range::of(document, &field, &diagnostic.problem);
        let related = diagnostic.related.iter();
        let related = related.filter_map(|path| document.span_of(&judged.path_of(path)));
        let written = || as_written(self.text, document, &field);
        let suggestion = suggestion(diagnostic, verdict.as_ref(), written);
        let target = self.target(number, document);
        let (edit, left) = match verdict {
            Some(Verdict::Passes(change)) => match Edit::of(change, field.clone(), target) {
                Ok(edit) => (Some(edit), None),
                Err(reason) => (None, Some(reason.to_owned())),
            },
            _ => (None, None),
        };
        Finding {
            place: self.located(span),
            severity: diagnostic.severity,
            origin: diagnostic.origin,
            is_lowered: is_lowered(diagnostic),
            rule: diagnostic.rule.as_str(),
            object: Some(object.clone()),
            source: rendered::by_kustomize(judged.value),
            field: Some(field),
            message: clean(&format!("{}: {}", diagnostic.problem, diagnostic.reason)),
            suggestion: suggestion.as_deref().map(clean),
            edit,
            left,
            related: related
                .filter(|span| !span.is_empty())
                .map(|span| self.located(span))
                .collect(),
        }
    }

    fn target<'a>(&'a self, number: usize, document: &'a Document<'a>) -> Target<'a> {
        Target {
            text: self.text,
            lines: &self.lines,
            document,
            number,
        }
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

    /// What is missed at the end of the text is pointed at behind its last word: the line after it does not exist.
    fn within(&self, span: Span) -> Span {
        let (before, behind) = self
            .text
            .split_at_checked(span.start())
            .unwrap_or((self.text, ""));
        if behind.trim_start().is_empty() {
            let end = before.trim_end().len();
            return Span::new(end, end);
        }
        span
    }

    fn located(&self, span: Span) -> SourceRange {
        source_range::located(span, &self.lines)
    }
}

/// What to write instead. Of a value that belongs in quotes, its text as the author wrote it; where that is refused,
/// too, why.
fn suggestion(
    diagnostic: &Diagnostic,
    verdict: Option<&Verdict>,
    written: impl FnOnce() -> Option<String>,
) -> Option<String> {
    if diagnostic.fix != Some(Fix::Quote) {
        return diagnostic.suggestion.clone();
    }
    match verdict {
        Some(Verdict::Fails(Some(trouble))) => {
            let mut text = format!("in quotes it is refused, too: {}", trouble.reason);
            if let Some(better) = &trouble.suggestion {
                text.push_str("; ");
                text.push_str(better);
            }
            Some(text)
        }
        _ => written()
            .map(|written| Fix::quoting(&written))
            .or_else(|| diagnostic.suggestion.clone()),
    }
}

/// Whether a policy has made less of an error for which Karpenter refuses the object.
fn is_lowered(diagnostic: &Diagnostic) -> bool {
    diagnostic.origin.is_karpenters()
        && diagnostic.severity < Severity::Error
        && rules::find(diagnostic.rule.as_str()).is_some_and(|rule| rule.severity == Severity::Error)
}

/// The text of a number or boolean as it stands in the file; none where a tag or an anchor stands before it.
fn as_written(text: &str, document: &Document<'_>, field: &FieldPath) -> Option<String> {
    let written = document.locate(field)?.value.of(text);
    (!written.is_empty() && !written.starts_with(['!', '&'])).then(|| written.to_owned())
}

/// Whether a finding says something of an object that only the whole of it can answer for: a field that is missing, or
/// one that tells kustomize what to do.
fn is_about_the_whole(diagnostic: &Diagnostic) -> bool {
    let last = diagnostic.path.segments().last();
    let is_directive = matches!(last, Some(Segment::Key(key)) if key.starts_with('$'));
    match diagnostic.problem {
        Problem::Required => true,
        Problem::Unknown => is_directive,
        _ => false,
    }
}

/// A mistake in a comment as a finding.
fn told(mistake: &Mistake, place: SourceRange, object: Option<&Object>) -> Finding {
    Finding {
        origin: Origin::Poolgate,
        object: object.cloned(),
        message: mistake.message.clone(),
        suggestion: Some(mistake.suggestion.to_owned()),
        ..Finding::of_manifest(mistake.rule, mistake.severity, place)
    }
}
