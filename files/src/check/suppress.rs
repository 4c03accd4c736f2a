//! Comments that silence rules: `# poolgate: ignore RULE, RULE -- why`.
//!
//! After something on a line, a comment is about that line. On a separate line it is about the field or list
//! element that begins on the next line, with everything below; above the first line of a document, about the
//! document. A finding for which Karpenter itself rejects the object stays as a warning, and the exit code stays 1.

use std::cell::Cell;

use poolgate_core::diagnostic::FieldPath;

use super::diagnosed::is_ignorable;
use super::note::{Note, Place};
use crate::format::finding::Finding;
use crate::sources::origin;
use crate::text_rules::{self, IGNORE_SYNTAX, IGNORE_UNKNOWN, IGNORE_UNUSED};
use poolgate_core::manifest::{Comment, Document, Limits, Span};

/// How a comment for poolgate begins.
pub const MARK: &str = "poolgate:";

/// The addition to a finding that a comment cannot ignore.
pub const IGNORED: &str = " (ignored by a comment, but Karpenter rejects it)";

/// The comment that ignores a rule.
pub fn ignoring(rule: &str, why: &str) -> String {
    format!("# {MARK} ignore {rule} -- {why}")
}

/// The comments of a document.
#[derive(Debug, Default)]
pub struct Suppressions<'t> {
    comments: Vec<Suppression<'t>>,
    mistakes: Vec<Note>,
}

/// One rule that a comment names.
#[derive(Debug)]
struct Suppression<'t> {
    rule: &'t str,
    /// Where the rule's name is.
    name: Span,
    /// The text that the comment is about.
    scope: Span,
    is_used: Cell<bool>,
}

/// The effect of a comment on a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// No comment ignores it.
    Reported,
    /// It is ignored, but Karpenter would reject the object: it is reported as a warning.
    Weakened,
    /// It is ignored, and not reported at all.
    Silent,
}

impl<'t> Suppressions<'t> {
    /// Reads the comments of a document.
    pub fn parse(document: &Document<'t>, text: &'t str) -> Self {
        let mut suppressions = Self::default();
        for comment in document.comments() {
            let Some(directive) = comment.text.trim_start().strip_prefix(MARK) else {
                continue;
            };
            suppressions.add(comment, directive, document, text);
        }
        suppressions
    }

    fn add(&mut self, comment: &Comment<'t>, directive: &'t str, document: &Document<'t>, text: &'t str) {
        // Editors and phones make one dash of two.
        let parts = ["--", "—", "–"]
            .into_iter()
            .filter_map(|dash| directive.split_once(dash));
        let (names, why) = parts
            .min_by_key(|(names, _)| names.len())
            .map_or((directive, ""), |(names, why)| (names, why.trim()));
        let Some(names) = names.trim_start().strip_prefix("ignore ") else {
            return self.syntax(comment, "this comment for poolgate cannot be parsed");
        };
        if why.is_empty() {
            self.syntax(comment, "a comment that ignores a rule must give a reason");
        }
        let scope = scope(comment, document, text);
        let mut is_empty = true;
        for rule in names.split([',', ' ']).filter(|name| !name.is_empty()) {
            is_empty = false;
            let start = rule.as_ptr().addr() - text.as_ptr().addr();
            let name = Span::new(start, start + rule.len());
            let wrong = match text_rules::known(rule) {
                Err(unknown) => Some((format!("there is no rule {rule}"), unknown.suggestion())),
                Ok(rule) if !is_ignorable(rule) => {
                    Some((format!("no comment can ignore {rule}"), "remove it".to_owned()))
                }
                Ok(_) => None,
            };
            if let Some((message, suggestion)) = wrong {
                self.mistakes.push(Note {
                    rule: IGNORE_UNKNOWN,
                    place: Place::Text(name),
                    message,
                    suggestion,
                });
                continue;
            }
            self.comments.push(Suppression {
                rule,
                name,
                scope,
                is_used: Cell::new(false),
            });
        }
        if is_empty {
            self.syntax(comment, "a comment that ignores must name a rule");
        }
    }

    fn syntax(&mut self, comment: &Comment<'_>, message: &str) {
        self.mistakes.push(Note {
            rule: IGNORE_SYNTAX,
            place: Place::Text(comment.span),
            message: message.to_owned(),
            suggestion: format!("write {}", ignoring("RULE", "why")),
        });
    }

    /// The effect of all comments on a finding.
    pub fn fate(&self, finding: &Finding) -> Fate {
        let at = finding.place.span.start();
        let mut fate = Fate::Reported;
        for comment in &self.comments {
            let within = comment.scope.start() <= at && at < comment.scope.end();
            if comment.rule == finding.rule && within {
                comment.is_used.set(true);
                fate = Fate::Silent;
            }
        }
        if fate == Fate::Silent && finding.is_rejected {
            return Fate::Weakened;
        }
        fate
    }

    /// Mistakes in the comments. Call it after all findings have passed [`Self::fate`].
    pub fn mistakes(self) -> impl Iterator<Item = Note> {
        let unused = self.comments.into_iter().filter(|comment| !comment.is_used.get());
        self.mistakes.into_iter().chain(unused.map(|comment| Note {
            rule: IGNORE_UNUSED,
            place: Place::Text(comment.name),
            message: format!("nothing here breaks {}", comment.rule),
            suggestion: "remove the comment".to_owned(),
        }))
    }
}

/// The text that a comment is about.
fn scope(comment: &Comment<'_>, document: &Document<'_>, text: &str) -> Span {
    let before = text.get(..comment.span.start()).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let beside = before.get(line_start..).unwrap_or_default();
    if !beside.trim_start_matches('\u{feff}').trim().is_empty() {
        return Span::new(line_start, line_end(text, comment.span.end()));
    }
    let Some(next) = next_content(text, comment.span.end()) else {
        return Span::new(comment.span.end(), comment.span.end());
    };
    let next_line = text
        .get(..next)
        .and_then(|before| before.rfind('\n'))
        .map_or(0, |newline| newline + 1);
    let mut path = document.path_at(next);
    let mut end = line_end(text, next);
    while let Some((start, behind)) = extent(document, &path) {
        if start < next_line {
            break;
        }
        end = end.max(behind);
        match path.parent() {
            Some(parent) => path = parent,
            None => break,
        }
    }
    Span::new(next_line, end)
}

/// Where a field or element begins, its key included, and where it ends.
fn extent(document: &Document<'_>, path: &FieldPath) -> Option<(usize, usize)> {
    let place = document.locate(path)?;
    // The value of an alias is written elsewhere.
    let value = place.alias.unwrap_or(place.value);
    let start = place.key.map_or(value.start(), Span::start);
    Some((start, value.end()))
}

/// The first word after `from` that is neither a comment nor the mark of a document.
fn next_content(text: &str, from: usize) -> Option<usize> {
    let mut at = line_end(text, from);
    while at < text.len() {
        let rest = text.get(at..)?;
        let line = rest.split('\n').next().unwrap_or_default();
        let words = line.trim();
        if !(words.is_empty() || words.starts_with('#') || words == "---") {
            let mut inner = line.trim_start();
            while let Some(element) = inner.strip_prefix("- ") {
                inner = element.trim_start();
            }
            return Some(at + (line.len() - inner.len()));
        }
        at += line.len() + 1;
    }
    None
}

/// The first byte of the line after the one at `from`.
fn line_end(text: &str, from: usize) -> usize {
    text.get(from..)
        .and_then(|rest| rest.find('\n'))
        .map_or(text.len(), |newline| from + newline + 1)
}

/// How a text is parsed: comments take a tenth of the time, and without one of these marks lint needs none of them.
pub fn limits(text: &str) -> Limits {
    let limits = Limits::default();
    if [MARK, origin::HELM].iter().any(|mark| text.contains(mark)) {
        limits
    } else {
        Limits {
            comments: 0,
            ..limits
        }
    }
}

#[cfg(test)]
mod tests {
    use poolgate_core::diagnostic::Severity;
    use poolgate_core::manifest::{self, Limits, Position};

    use super::*;
    use crate::edit::SourceRange;

    const TEXT: &str = "\
# poolgate: ignore weight -- above all
apiVersion: karpenter.sh/v1
spec:
  a: 1 # poolgate: ignore field-type -- beside
  # poolgate: ignore budget-nodes -- one element
  budgets:
  # poolgate: ignore schedule-syntax,budget-reason -- below
  - nodes: 1
    schedule: x
  - nodes: 2
";

    /// An error of this rule at one byte.
    fn finding(rule: &'static str, is_rejected: bool, at: usize) -> Finding {
        let position = Position { line: 1, column: 1 };
        let place = SourceRange {
            span: Span::new(at, at + 1),
            start: position,
            end: position,
        };
        Finding {
            is_rejected,
            ..Finding::at(rule, Severity::Error, place)
        }
    }

    fn silent_at(rule: &'static str, marker: &str) -> bool {
        let mut documents = manifest::parse(TEXT, &Limits::default());
        let document = documents.next().expect("a document");
        let suppressions = Suppressions::parse(&document, TEXT);
        let at = TEXT.find(marker).expect(marker);
        suppressions.fate(&finding(rule, false, at)) == Fate::Silent
    }

    #[test]
    fn a_comment_beside_is_about_its_line() {
        assert!(silent_at("field-type", "1 # poolgate"));
        assert!(!silent_at("field-type", "nodes: 1"));
    }

    #[test]
    fn a_comment_above_is_about_what_begins_below_it() {
        assert!(silent_at("budget-nodes", "nodes: 1"));
        assert!(silent_at("budget-nodes", "nodes: 2"));
        assert!(silent_at("schedule-syntax", "x\n"));
        assert!(silent_at("budget-reason", "nodes: 1"));
        assert!(!silent_at("schedule-syntax", "nodes: 2"), "the next element");
        assert!(!silent_at("budget-nodes", "a: 1"));
    }

    #[test]
    fn a_comment_above_all_is_about_the_document() {
        assert!(silent_at("weight", "apiVersion"));
        assert!(silent_at("weight", "nodes: 2"));
    }

    fn mistakes(text: &str) -> Vec<(&'static str, String)> {
        let mut documents = manifest::parse(text, &Limits::default());
        let document = documents.next().expect("a document");
        Suppressions::parse(&document, text)
            .mistakes()
            .filter_map(|mistake| match mistake.place {
                Place::Text(span) => Some((mistake.rule, span.slice(text).to_owned())),
                Place::Field(_) => None,
            })
            .collect()
    }

    #[test]
    fn comments_that_do_nothing_are_reported() {
        assert_eq!(
            mistakes("a: 1 # poolgate: ignore weight -- why\n"),
            [(IGNORE_UNUSED, "weight".to_owned())]
        );
        assert_eq!(
            mistakes("a: 1 # poolgate: ignore wait -- why\n"),
            [(IGNORE_UNKNOWN, "wait".to_owned())]
        );
        let rules = |text: &str| -> Vec<_> { mistakes(text).into_iter().map(|(rule, _)| rule).collect() };
        assert_eq!(
            rules("a: 1 # poolgate: ignore weight\n"),
            [IGNORE_SYNTAX, IGNORE_UNUSED]
        );
        assert_eq!(rules("a: 1 # poolgate: skip weight -- why\n"), [IGNORE_SYNTAX]);
        assert_eq!(rules("a: 1 # poolgate: ignore  -- why\n"), [IGNORE_SYNTAX]);
        assert_eq!(rules("a: 1 # poolgate is good\n"), [""; 0]);
        for dash in ["--", "—", "–"] {
            let text = format!("a: 1 # poolgate: ignore weight {dash} off -- for—now\n");
            assert_eq!(rules(&text), [IGNORE_UNUSED], "{dash}");
        }
    }

    #[test]
    fn what_karpenter_rejects_stays_as_a_warning() {
        let text = "a: 1 # poolgate: ignore weight, expire-after -- why\n";
        let mut documents = manifest::parse(text, &Limits::default());
        let document = documents.next().expect("a document");
        let suppressions = Suppressions::parse(&document, text);
        let fate = |rule, is_rejected| suppressions.fate(&finding(rule, is_rejected, 3));
        assert_eq!(fate("weight", true), Fate::Weakened);
        assert_eq!(fate("expire-after", true), Fate::Weakened);
        assert_eq!(fate("expire-after", false), Fate::Silent);
        assert_eq!(fate("budget-nodes", false), Fate::Reported);
        let lowered = Finding {
            severity: Severity::Warning,
            ..finding("weight", true, 3)
        };
        assert_eq!(suppressions.fate(&lowered), Fate::Weakened);
    }
}
