//! Which fixes pass the review that suggested them: each is made in the object, and the object is reviewed again.
//!
//! A fix that leaves an error at its field, or causes one elsewhere, is worse than none: the user trusts it. One that shows
//! an error which the mistake had hidden is right.

use std::collections::{HashMap, HashSet};

use poolgate_core::diagnostic::{Diagnostic, Edit, FieldPath, Report, RuleId, Severity};
use poolgate_core::json::Json;
use serde_json::Value;

use super::fix::{Change, rests_on};

/// Most reviews of one object in which all its fixes are tried together.
const ROUNDS: usize = 8;

/// Most fixes of one object that are tried one after the other, if all together cause a new error.
const SINGLE: usize = 32;

/// The result of reviewing a fix.
#[derive(Debug)]
pub enum Verdict {
    /// The object is better with this change.
    Passes(Change),
    /// The object would still be denied with it, for this finding at that field.
    Fails(Box<Diagnostic>),
    /// It is left to the author, for this reason.
    Left(&'static str),
}

const BRINGS_AN_ERROR: &str = "it would cause an error, alone or with the other fixes: change it by hand";

const NOT_TRIED: &str = "too many fixes of this object conflict: make the others first";

/// A fix that is being reviewed.
struct CandidateFix<'d> {
    path: &'d FieldPath,
    rule: RuleId,
    verdict: Verdict,
}

/// The verdicts on the fixes in `report`, which is the review of `object`, by field. If there are two for one
/// field, the first counts. `review` reviews another object in the same way; `written` is the text at a field, and
/// `is_possible` says whether the text can be changed like that.
pub fn verdicts(
    object: &Json<'_>,
    report: &Report,
    review: impl Fn(&Json<'_>) -> Report,
    written: impl Fn(&FieldPath) -> Option<String>,
    is_possible: impl Fn(&FieldPath, &Change) -> bool,
) -> HashMap<FieldPath, Verdict> {
    let mut candidates: Vec<CandidateFix<'_>> = Vec::new();
    let mut seen = HashSet::new();
    for diagnostic in report.diagnostics() {
        if let Some(change) = change(diagnostic, object, &written)
            && seen.insert(&diagnostic.path)
        {
            candidates.push(CandidateFix {
                path: &diagnostic.path,
                rule: diagnostic.rule,
                verdict: Verdict::Passes(change),
            });
        }
    }
    if !candidates.is_empty() {
        let fixes = FixReview {
            object,
            review,
            is_possible,
            errors: errors(report)
                .map(|found| (found.rule, found.path.clone()))
                .collect(),
            unseen: report.omitted(Severity::Error),
        };
        // A fix that is left to the author cannot help others.
        candidates.sort_by_key(|candidate| !fixes.can_write(candidate));
        let possible = candidates.partition_point(|candidate| fixes.can_write(candidate));
        let (possible, left) = candidates.split_at_mut(possible);
        fixes.try_together(possible);
        fixes.try_together(left);
    }
    let verdicts = candidates.into_iter();
    verdicts
        .map(|candidate| (candidate.path.clone(), candidate.verdict))
        .collect()
}

/// The fix of a finding as a change; `None` if there is none, or if the text is ambiguous: to YAML the limit `012`
/// is ten, to its author perhaps twelve.
fn change(
    diagnostic: &Diagnostic,
    object: &Json<'_>,
    written: impl Fn(&FieldPath) -> Option<String>,
) -> Option<Change> {
    let path = &diagnostic.path;
    match diagnostic.help.as_ref()?.edit.as_ref()? {
        Edit::Rename(name) => Some(Change::rename(name)),
        Edit::Remove => Some(Change::Remove),
        Edit::Unwrap => Some(Change::Unwrap),
        Edit::Quote => Some(Change::write(Value::String(written(path)?))),
        Edit::Set(value) => {
            let is_text = path.find(object)?.as_str().is_some() || !value.is_string();
            (is_text || written(path).as_deref() == value.as_str()).then(|| Change::write(value.clone()))
        }
    }
}

/// What changes are reviewed with.
struct FixReview<'a, R, P> {
    object: &'a Json<'a>,
    review: R,
    is_possible: P,
    /// The errors that the object has as it is.
    errors: HashSet<(RuleId, FieldPath)>,
    /// How many more errors it has that its report left out.
    unseen: usize,
}

impl<R: Fn(&Json<'_>) -> Report, P: Fn(&FieldPath, &Change) -> bool> FixReview<'_, R, P> {
    /// Whether the text can be changed as the candidate says.
    fn can_write(&self, candidate: &CandidateFix<'_>) -> bool {
        matches!(&candidate.verdict, Verdict::Passes(change) if (self.is_possible)(candidate.path, change))
    }

    /// Tries all together, then again without those that fail, until none fails.
    fn try_together(&self, candidates: &mut [CandidateFix<'_>]) {
        for _ in 0..ROUNDS {
            let Some(after) = self.with(candidates.iter()) else {
                break;
            };
            let mut is_settled = true;
            for candidate in candidates.iter_mut() {
                is_settled &= candidate.take_note_of(&after, &self.is_possible);
            }
            if !is_settled {
                continue;
            }
            if self.causes_no_error(&after, candidates.iter()) {
                return;
            }
            break;
        }
        self.try_each(candidates);
    }

    /// Tries one after the other, each with those that have passed. One bad combination costs only the fix that
    /// completes it.
    fn try_each(&self, candidates: &mut [CandidateFix<'_>]) {
        let mut kept: Vec<&CandidateFix<'_>> = Vec::new();
        let mut tried = 0;
        for candidate in candidates {
            if !matches!(candidate.verdict, Verdict::Passes(_)) {
                continue;
            }
            tried += 1;
            if tried > SINGLE {
                candidate.verdict = Verdict::Left(NOT_TRIED);
                continue;
            }
            let together = || kept.iter().copied().chain([&*candidate]);
            let passes = |after: Report| {
                self.causes_no_error(&after, together())
                    && together().all(|fix| fix.trouble(&after).is_none())
            };
            if self.with(together()).is_some_and(passes) {
                kept.push(candidate);
            } else {
                candidate.verdict = Verdict::Left(BRINGS_AN_ERROR);
            }
        }
    }

    /// The review of the object with the changes that have not failed; `None` if one cannot be made.
    fn with<'t, 'd: 't>(&self, candidates: impl Iterator<Item = &'t CandidateFix<'d>>) -> Option<Report> {
        let mut object = self.object.clone();
        for candidate in candidates {
            if let Verdict::Passes(change) = &candidate.verdict {
                change.make(&mut object, candidate.path)?;
            }
        }
        Some((self.review)(&object))
    }

    /// Whether no error of a review is new and caused by one of the changes that have not failed.
    fn causes_no_error<'t, 'd: 't>(
        &self,
        after: &Report,
        candidates: impl Iterator<Item = &'t CandidateFix<'d>>,
    ) -> bool {
        let changed: Vec<FieldPath> = candidates.filter_map(CandidateFix::changed).collect();
        let new = errors(after).filter(|found| !self.errors.contains(&(found.rule, found.path.clone())));
        let caused = new.filter(|found| rests_on(&found.path, &found.related, &changed));
        caused.count() <= self.unseen
    }
}

impl CandidateFix<'_> {
    /// Returns whether the candidate stays as it is: a change that does not pass fails, or is improved if the
    /// improvement is certain.
    fn take_note_of(&mut self, after: &Report, is_possible: impl Fn(&FieldPath, &Change) -> bool) -> bool {
        let Some(trouble) = self.trouble(after) else {
            return true;
        };
        let (path, trouble) = (self.path_after(), trouble.clone());
        let suggestion = trouble.help.as_ref();
        let edit = suggestion.and_then(|suggestion| suggestion.edit.as_ref());
        let better = match (&self.verdict, edit) {
            // The field has its right name now, and its value can be corrected too.
            (Verdict::Passes(Change::Rewrite { rename, write: None }), Some(Edit::Set(value)))
                if path.as_ref() == Some(&trouble.path) =>
            {
                Some(Change::Rewrite {
                    rename: rename.clone(),
                    write: Some(value.clone()),
                })
            }
            _ => None,
        };
        self.verdict = match better.filter(|change| is_possible(self.path, change)) {
            Some(change) => Verdict::Passes(change),
            None => Verdict::Fails(Box::new(trouble)),
        };
        false
    }

    /// The finding at the field after the change.
    fn trouble<'r>(&self, after: &'r Report) -> Option<&'r Diagnostic> {
        let path = self.path_after()?;
        after.diagnostics().iter().find(|found| {
            found.path.segments().starts_with(path.segments())
                && (is_error(found) || (found.rule == self.rule && found.path == path))
        })
    }

    /// Where the field is after the change; `None` for a change that has failed.
    fn path_after(&self) -> Option<FieldPath> {
        let Verdict::Passes(change) = &self.verdict else {
            return None;
        };
        change.field_after(self.path)
    }

    /// The field that an error rests on if the change causes it; `None` for a change that has failed.
    fn changed(&self) -> Option<FieldPath> {
        let Verdict::Passes(change) = &self.verdict else {
            return None;
        };
        Some(change.changed(self.path))
    }
}

/// Whether it is an error, or was one before a policy lowered it.
fn is_error(found: &Diagnostic) -> bool {
    found.severity.max(found.own_severity) == Severity::Error
}

fn errors(report: &Report) -> impl Iterator<Item = &Diagnostic> {
    report.diagnostics().iter().filter(|found| is_error(found))
}
