//! The documents of a text, one after the other.
//!
//! The only module that calls the parser. A mistake costs one document: the next one is searched for after it.

use std::cell::OnceCell;

use granit_parser::{ErrorKind, Event, Parser, ScanError, StrInput};

use super::as_words::{AsWords, document_length};
use super::compose::Composer;
use super::problem::{ManifestProblem, ProblemKind};
use super::resolve::{AliasBudget, Reading};
use super::syntax::SyntaxError;
use super::template::{bracket_at, bracket_before, is_helms, is_template};
use super::variables::{Variables, may_have_variable};
use super::{Comment, Document, Limits, Span};

/// All documents of one text together may use this many times what aliases may add to one of them.
const DOCUMENTS_WITH_ALIASES: usize = 10;

/// How many lines after the position of an error the tab that caused it is searched for.
const FARTHEST_TAB: usize = 100;

/// The documents of a text in its order, each read on demand.
pub struct Documents<'t> {
    text: &'t str,
    limits: Limits,
    parser: Parser<'t, StrInput<'t>>,
    /// The position in the text at which the parser began.
    base: usize,
    /// The position of the document that began last; `None` after one that could not be read.
    begun: Option<usize>,
    /// Comments above a document that has not begun.
    comments: Vec<Comment<'t>>,
    /// How many more documents are allowed.
    left: usize,
    budget: AliasBudget,
    variables: Option<&'t Variables>,
    /// Whether the text is a template of Helm's, if that was asked: every line may ask.
    is_helms: OnceCell<bool>,
    finished: bool,
}

/// Walks the documents of `text`. The problems of one are in its [`Document::problems`].
pub fn parse<'t>(text: &'t str, limits: &Limits) -> Documents<'t> {
    walk(text, limits, None)
}

/// Walks the documents of a text with variables filled in. Every value keeps its position in the text.
pub fn parse_with<'t>(text: &'t str, limits: &Limits, variables: &'t Variables) -> Documents<'t> {
    walk(text, limits, Some(variables))
}

fn walk<'t>(text: &'t str, limits: &Limits, variables: Option<&'t Variables>) -> Documents<'t> {
    // A text too long for a span is not read, whatever the caller's bound.
    let limits = Limits {
        bytes: limits.bytes.min(u32::MAX as usize),
        ..*limits
    };
    let base = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    Documents {
        text,
        limits,
        parser: parser(text, base, &limits),
        base,
        begun: None,
        comments: Vec::new(),
        left: limits.documents,
        budget: AliasBudget {
            nodes: limits.alias_nodes.saturating_mul(DOCUMENTS_WITH_ALIASES),
            bytes: limits.alias_bytes.saturating_mul(DOCUMENTS_WITH_ALIASES),
        },
        variables: variables.filter(|_| may_have_variable(text)),
        is_helms: OnceCell::new(),
        finished: false,
    }
}

fn parser<'t>(text: &'t str, base: usize, limits: &Limits) -> Parser<'t, StrInput<'t>> {
    let options = granit_parser::options! {
        emit_unresolved_aliases: true,
        emit_comments: limits.comments > 0,
        max_buffered_comment_events: limits.comments,
        flow_nesting_limit: limits.depth,
        block_nesting_limit: limits.depth,
    };
    Parser::new_from_str_with_options(text.get(base..).unwrap_or_default(), options)
}

impl<'t> Iterator for Documents<'t> {
    type Item = Document<'t>;

    fn next(&mut self) -> Option<Document<'t>> {
        if self.finished {
            return None;
        }
        if self.text.len() > self.limits.bytes {
            let limit = self.limits.bytes;
            return Some(self.last(0, ProblemKind::TooLarge { limit }));
        }
        loop {
            match self.parser.next_event() {
                Some(Ok((Event::DocumentStart(..), span))) => {
                    let start = self.span(&span).start();
                    self.begun = Some(start);
                    return Some(self.counted(start, |documents| documents.document(start)));
                }
                Some(Ok((Event::Comment(..), span))) => {
                    let comment = self.comment(self.span(&span));
                    if let Err(kind) = self.keep(comment) {
                        return Some(self.last(comment.span.start(), kind));
                    }
                }
                Some(Ok((Event::StreamEnd, _))) | None => {
                    self.finished = true;
                    return None;
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    let offset = self.offset(&error);
                    if !self.begins_json(&error, offset) {
                        return Some(self.counted(offset, |documents| {
                            let problem = documents.syntax(&error, None);
                            documents.broken(offset, problem)
                        }));
                    }
                    self.restart(offset);
                }
            }
        }
    }
}

impl<'t> Documents<'t> {
    /// The document that begins at `start`, unless there were too many.
    fn counted(&mut self, start: usize, read: impl FnOnce(&mut Self) -> Document<'t>) -> Document<'t> {
        let Some(left) = self.left.checked_sub(1) else {
            let limit = self.limits.documents;
            return self.last(start, ProblemKind::TooManyDocuments { limit });
        };
        self.left = left;
        read(self)
    }

    fn document(&mut self, start: usize) -> Document<'t> {
        let mut composer = Composer::new(self.text, self.limits, start);
        let above = self.comments.len();
        let end = loop {
            match self.parser.next_event() {
                Some(Ok((Event::DocumentEnd, span))) => break self.span(&span).end(),
                Some(Ok((Event::StreamEnd, _))) | None => break self.text.len(),
                Some(Ok((event, span))) => {
                    let span = self.span(&span);
                    if let Err(kind) = self.take(&mut composer, event, span) {
                        return self.broken(start, problem(span, kind));
                    }
                }
                Some(Err(error)) => {
                    let offset = self.offset(&error);
                    if *error.kind() == ErrorKind::BomInsideDocument && composer.is_empty() {
                        // kubectl accepts a byte order mark at the beginning of each joined file.
                        self.restart(offset + '\u{feff}'.len_utf8());
                    } else {
                        let problem = self.syntax(&error, Some(&composer));
                        let filled_in_later = self.as_words(start, above);
                        return filled_in_later.unwrap_or_else(|| self.broken(start, problem));
                    }
                }
            }
        };
        let comments = std::mem::take(&mut self.comments);
        self.complete(Span::new(start, end), composer, comments)
    }

    fn complete(&mut self, span: Span, composer: Composer<'t>, comments: Vec<Comment<'t>>) -> Document<'t> {
        let reading = Reading {
            limits: self.limits,
            variables: self.variables,
            is_helms: &self.is_helms,
            budget: &mut self.budget,
        };
        Document::complete(self.text, span, composer.finish(), comments, reading)
    }

    /// The document at `start`, read with its variables as words, if that makes it YAML; `above` of the comments are above
    /// it.
    fn as_words(&mut self, start: usize, above: usize) -> Option<Document<'t>> {
        let rest = self.text.get(start..)?;
        let written = rest.get(..document_length(rest))?;
        let words = AsWords::of(written)?;
        let mut parser = parser(words.text(), 0, &self.limits);
        let mut composer = Composer::new(self.text, self.limits, start);
        let mut comments = self.comments.get(..above)?.to_vec();
        let mut end = None;
        loop {
            let (event, inside) = parser.next_event().transpose().ok()??;
            let inside = inside.byte_range().unwrap_or_default();
            let span = Span::new(start + inside.start, start + inside.end);
            match event {
                Event::StreamEnd => break,
                Event::StreamStart | Event::DocumentStart(..) if end.is_none() => {}
                Event::Comment(..) if comments.len() < self.limits.comments => {
                    comments.push(self.comment(span));
                }
                Event::DocumentEnd => end = end.or(Some((span.end(), comments.len()))),
                event if end.is_none() => composer.add(words.restored(event, &inside), span).ok()?,
                _ => return None,
            }
        }
        let (end, own) = end?;
        self.comments = comments.split_off(own);
        self.proceed();
        Some(self.complete(Span::new(start, end), composer, comments))
    }

    fn take(&mut self, composer: &mut Composer<'t>, event: Event<'t>, span: Span) -> Result<(), ProblemKind> {
        match event {
            Event::Comment(..) => self.keep(self.comment(span)),
            event => composer.add(event, span),
        }
    }

    fn keep(&mut self, comment: Comment<'t>) -> Result<(), ProblemKind> {
        let limit = self.limits.comments;
        if self.comments.len() >= limit {
            return Err(ProblemKind::TooManyComments { limit });
        }
        self.comments.push(comment);
        Ok(())
    }

    /// A document that could not be read; the following ones still can be.
    fn broken(&mut self, start: usize, problem: ManifestProblem) -> Document<'t> {
        // To find the end of an endless document takes as long as to read it.
        let endless = matches!(problem.kind, ProblemKind::TooManyNodes { .. });
        if endless {
            self.finished = true;
        } else {
            self.proceed();
        }
        let span = Span::new(start, problem.span.end());
        let comments = std::mem::take(&mut self.comments);
        Document::broken(span, comments, problem)
    }

    /// Goes on with the document behind one that the parser cannot read.
    fn proceed(&mut self) {
        self.begun = None;
        self.finished = !matches!(self.parser.proceed_next_document(), Ok(true));
    }

    /// The end of reading: nothing after `start` is read.
    fn last(&mut self, start: usize, kind: ProblemKind) -> Document<'t> {
        self.finished = true;
        let span = Span::new(start, start);
        Document::broken(span, Vec::new(), problem(span, kind))
    }

    /// JSON objects one after the other are legal for kubectl, but not YAML.
    fn begins_json(&self, error: &ScanError, offset: usize) -> bool {
        let rest = self.text.get(offset..).unwrap_or_default();
        *error.kind() == ErrorKind::ExpectedDocumentStart && rest.starts_with('{') && offset > self.base
    }

    fn restart(&mut self, base: usize) {
        self.base = base;
        self.parser = parser(self.text, base, &self.limits);
    }

    fn span(&self, span: &granit_parser::Span) -> Span {
        let range = span.byte_range().unwrap_or_default();
        Span::new(self.base + range.start, self.base + range.end)
    }

    fn comment(&self, span: Span) -> Comment<'t> {
        let text = span.slice(self.text);
        Comment {
            text: text.strip_prefix('#').unwrap_or(text),
            span,
        }
    }

    fn offset(&self, error: &ScanError) -> usize {
        self.base + error.marker().byte_offset().unwrap_or_default()
    }

    /// The tab that the parser means: the first that indents, on the reported line or below.
    fn tab(&self, offset: usize) -> usize {
        let before = self.text.get(..offset).unwrap_or_default();
        let own_line = before.rfind('\n').map_or(0, |newline| newline + 1);
        let mut at = own_line;
        let lines = self
            .text
            .get(own_line..)
            .unwrap_or_default()
            .split_inclusive('\n');
        for line in lines.take(FARTHEST_TAB) {
            let tab = at + line.len() - line.trim_start_matches(' ').len();
            if self.text.get(tab..).is_some_and(|rest| rest.starts_with('\t')) {
                return tab;
            }
            at += line.len();
        }
        offset
    }

    /// The meaning of the parser's error, and its position.
    fn syntax(&self, error: &ScanError, composer: Option<&Composer<'t>>) -> ManifestProblem {
        let mut offset = self.offset(error);
        if SyntaxError::from_kind(error.kind()) == SyntaxError::Tab {
            offset = self.tab(offset);
        }
        let rest = self.text.get(offset..).unwrap_or_default();
        let span = Span::new(offset, offset + rest.chars().next().map_or(0, char::len_utf8));
        let template = if is_template(self.text, offset) {
            Some(span)
        } else {
            let first = || self.begun.and_then(|start| bracket_at(self.text, start));
            bracket_before(self.text, offset).or_else(first)
        };
        let kind = match error.kind() {
            ErrorKind::RecursionLimitExceeded => ProblemKind::TooDeep {
                limit: self.limits.depth,
            },
            ErrorKind::TooManyComments => ProblemKind::TooManyComments {
                limit: self.limits.comments,
            },
            _ if template.is_some() => ProblemKind::Template {
                is_helms: *self.is_helms.get_or_init(|| is_helms(self.text)),
            },
            kind => ProblemKind::Syntax(SyntaxError::from_kind(kind)),
        };
        let related = match &kind {
            ProblemKind::Syntax(SyntaxError::UnclosedQuote) => composer.and_then(|composer| {
                let skipped = composer.written();
                let unread = self.text.get(skipped..offset)?;
                let quote = skipped + unread.find(['"', '\''])?;
                Some(Span::new(quote, quote + 1))
            }),
            ProblemKind::Syntax(SyntaxError::UnclosedBracket | SyntaxError::MissingComma) => {
                composer.and_then(Composer::open_bracket)
            }
            _ => None,
        };
        let span = match kind {
            ProblemKind::Template { .. } => template.unwrap_or(span),
            _ => span,
        };
        ManifestProblem { span, related, kind }
    }
}

fn problem(span: Span, kind: ProblemKind) -> ManifestProblem {
    ManifestProblem {
        span,
        related: None,
        kind,
    }
}
