//! Which fixes are right: a document with them, read again and reviewed, lacks their findings, has no new error that they
//! cause, and nothing else in it has changed.
//!
//! A fix that leaves an error at its field, or causes one elsewhere, is worse than none: the user trusts it. One that shows
//! an error which the mistake had hidden is right: while the operator of a requirement cannot be read, its values are not
//! checked.

use std::collections::HashSet;

use poolgate_core::diagnostic::{self, FieldPath, Severity};
use poolgate_core::json::Json;
use poolgate_core::manifest::{Document, Lines, Span};
use serde_json::Value;

use super::suppress::IGNORED;
use crate::edit::{self, Change, TextEdit};
use crate::format::finding::{Finding, Fix, Object};
use crate::text_rules;

/// Most reviews of one document in which all its fixes are tried together.
const ROUNDS: usize = 8;

/// Most fixes of one document that are tried one after the other, if all together cause a new error.
const SINGLE: usize = 32;

const BRINGS_AN_ERROR: &str =
    "the fix would cause an error or change something else, alone or with the other fixes. Change it by hand";

const NOT_TRIED: &str = "too many fixes of this document conflict. Make the others first";

/// The findings of a document that was read and reviewed.
pub struct Reviewed {
    pub findings: Vec<Finding>,
    /// How many errors it has that are not among the findings.
    pub unseen: usize,
}

/// Reads a text and reviews it, if it is one document with this value; `None` if it is not.
pub type Review<'r> = dyn Fn(&str, &Json<'_>) -> Option<Reviewed> + 'r;

/// A document whose fixes are tried.
pub struct Tried<'a, 't> {
    /// The whole text, and its lines.
    pub text: &'t str,
    pub lines: &'a Lines<'t>,
    /// Where the document begins with the comments above it, and where the next one does.
    pub start: usize,
    pub end: usize,
    pub number: usize,
    pub document: &'a Document<'t>,
    pub review: &'a Review<'a>,
}

impl Tried<'_, '_> {
    /// Leaves each fix to its author that is not right. These findings are those of the document, each with an edit.
    pub fn settle(&self, findings: Vec<&mut Finding>) {
        let Some(before) = self.reviewed(&[]) else {
            return findings
                .into_iter()
                .for_each(|finding| finding.leave(BRINGS_AN_ERROR));
        };
        let errors: HashSet<_> = before
            .findings
            .iter()
            .filter(|found| is_error(found))
            .map(identity)
            .collect();
        let known = KnownErrors {
            errors,
            unseen: before.unseen,
        };
        let mut held = Vec::new();
        let mut open = Vec::new();
        for finding in findings {
            if let Fix::Left {
                why,
                untried: Some(edit),
            } = &finding.fix
            {
                let (why, edit) = (why.clone(), edit.clone());
                finding.fix = Fix::Write(edit);
                held.push((finding, why));
            } else {
                open.push(finding);
            }
        }
        self.try_apart(open, &known);
        // A fix that is not written cannot help others. It is tried for its message.
        self.try_apart(
            held.iter_mut().map(|(finding, _)| &mut **finding).collect(),
            &known,
        );
        for (finding, why) in held {
            finding.leave(&why);
        }
    }

    /// Tries those together that do not overlap.
    fn try_apart(&self, mut open: Vec<&mut Finding>, known: &KnownErrors) {
        while !open.is_empty() {
            let mut end = 0;
            let (apart, overlapping) = open.into_iter().partition(|finding| {
                let span = finding.edit().map_or(0..0, |edit| edit.place.span.range());
                let is_apart = span.start >= end;
                end = if is_apart { span.end } else { end };
                is_apart
            });
            self.try_together(apart, known);
            open = overlapping;
        }
    }

    /// Tries all together, then again without those that fail, until none fails.
    fn try_together(&self, mut open: Vec<&mut Finding>, known: &KnownErrors) {
        for _ in 0..ROUNDS {
            let Some(after) = self.reviewed(&open) else { break };
            let mut is_settled = true;
            open.retain_mut(|finding| match trouble(finding, &after) {
                Some(trouble) => {
                    is_settled = false;
                    self.improve_or_fail(finding, trouble)
                }
                None => true,
            });
            if is_settled {
                if known.has_all_caused(&after, &open) {
                    return;
                }
                break;
            }
        }
        self.try_each(open, known);
    }

    /// Tries one after the other, each with those that are right. One bad combination costs only the fix that completes it.
    fn try_each(&self, open: Vec<&mut Finding>, known: &KnownErrors) {
        let mut kept: Vec<&mut Finding> = Vec::new();
        for (tried, finding) in open.into_iter().enumerate() {
            if tried >= SINGLE {
                finding.leave(NOT_TRIED);
                continue;
            }
            kept.push(finding);
            let is_right = self.reviewed(&kept).is_some_and(|after| {
                known.has_all_caused(&after, &kept)
                    && kept.iter().all(|finding| trouble(finding, &after).is_none())
            });
            if !is_right && let Some(finding) = kept.pop() {
                finding.leave(BRINGS_AN_ERROR);
            }
        }
    }

    /// The document with these fixes, if that changes nothing else.
    fn reviewed(&self, findings: &[&mut Finding]) -> Option<Reviewed> {
        let edits: Vec<&TextEdit> = findings.iter().filter_map(|finding| finding.edit()).collect();
        let mut meant = self.document.value().clone();
        for edit in &edits {
            edit.change.make(&mut meant, &edit.field)?;
        }
        let replacements = edits.iter().map(|edit| {
            let span = edit.place.span;
            let within = Span::new(span.start() - self.start, span.end() - self.start);
            (within, &*edit.text)
        });
        let changed = edit::apply(self.text.get(self.start..self.end)?, replacements);
        (self.review)(&changed, &meant)
    }

    /// Returns whether a change that leaves a trouble at its field could be improved: the field has its right name now, and
    /// its value can be corrected too.
    fn improve_or_fail(&self, finding: &mut Finding, trouble: &Finding) -> bool {
        let Some(edit) = finding.edit() else { return false };
        if let Change::Rewrite { rename, write: None } = &edit.change
            && let Some(value) = written(trouble)
            && edit.change.field_after(&edit.field) == trouble.field
        {
            let change = Change::Rewrite {
                rename: rename.clone(),
                write: Some(value.clone()),
            };
            let document = (self.number, self.document);
            if let Ok(edit) = TextEdit::new(change, edit.field.clone(), document, self.text, self.lines) {
                finding.fix = Fix::Write(edit);
                return true;
            }
        }
        if self.is_quoted(edit) {
            let why = trouble.title.strip_suffix(IGNORED).unwrap_or(&trouble.title);
            let quoted = format!("quotes are not enough: {why}");
            let text = diagnostic::sentences(quoted, [trouble.suggestion.as_deref()]);
            finding.suggestion = Some(text.trim_end_matches('.').to_owned());
        }
        finding.fix = Fix::None;
        false
    }

    /// Whether an edit only makes a value a string.
    fn is_quoted(&self, edit: &TextEdit) -> bool {
        let value = edit.field.find(self.document.value());
        let is_string = value.is_some_and(|value| value.as_str().is_some());
        !is_string
            && matches!(
                &edit.change,
                Change::Rewrite {
                    rename: None,
                    write: Some(Value::String(_))
                }
            )
    }
}

/// The errors that a document has as it is.
struct KnownErrors {
    errors: HashSet<(&'static str, Option<FieldPath>, Option<Object>)>,
    unseen: usize,
}

impl KnownErrors {
    /// Whether no error of a review is new and caused by one of these fixes.
    fn has_all_caused(&self, after: &Reviewed, fixes: &[&mut Finding]) -> bool {
        let changed: Vec<FieldPath> = fixes
            .iter()
            .filter_map(|finding| finding.edit().map(TextEdit::changed))
            .collect();
        let errors = after.findings.iter().filter(|found| is_error(found));
        let new = errors.filter(|found| !self.errors.contains(&identity(found)));
        new.filter(|found| rests_on(found, &changed)).count() <= self.unseen
    }
}

fn identity(finding: &Finding) -> (&'static str, Option<FieldPath>, Option<Object>) {
    (finding.rule, finding.field.clone(), finding.object.clone())
}

/// Whether a finding rests on a field that was changed. An error that does not was hidden by the mistake before. One that is
/// about no field may rest on any.
fn rests_on(finding: &Finding, changed: &[FieldPath]) -> bool {
    let is_below = |path: &FieldPath| {
        changed
            .iter()
            .any(|changed| path.segments().starts_with(changed.segments()))
    };
    let related = || finding.related.iter().any(|related| is_below(&related.field));
    finding.field.as_ref().is_none_or(is_below) || related()
}

/// The finding that is left at the field of a fix.
fn trouble<'r>(finding: &Finding, after: &'r Reviewed) -> Option<&'r Finding> {
    let edit = finding.edit()?;
    let path = edit.change.field_after(&edit.field)?;
    after.findings.iter().find(|found| {
        found.field.as_ref().is_some_and(|field| {
            field.segments().starts_with(path.segments())
                && (is_error(found) || (found.rule == finding.rule && *field == path))
        })
    })
}

/// Whether it is an error, or was one before a policy or a comment lowered it.
fn is_error(found: &Finding) -> bool {
    found.severity == Severity::Error
        || text_rules::find_any(found.rule).is_some_and(|rule| rule.severity == Severity::Error)
}

/// The value that the fix of a finding writes.
fn written(finding: &Finding) -> Option<&Value> {
    match &finding.edit()?.change {
        Change::Rewrite { rename: None, write } => write.as_ref(),
        _ => None,
    }
}
