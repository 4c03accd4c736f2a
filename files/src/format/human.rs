//! Findings with the lines that they are about.

use std::borrow::Cow;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Origin, Patch, Renderer, Snippet};
use poolgate_core::diagnostic::Severity;

use super::finding::Finding;
use super::{FileReport, Look, RulePages};
use poolgate_core::manifest::Span;

use crate::edit::{SourceRange, TextEdit};
use crate::terminal;

/// Longest line that is shown, in bytes. For a longer one only the place is shown.
const LONGEST_LINE: usize = 1000;

/// Most lines between the first and the last place of one excerpt; a place further away is left out.
const FARTHEST: usize = 40;

pub fn file(file: &FileReport<'_>, look: Look, pages: RulePages<'_>) -> String {
    let renderer = if look.coloured {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let renderer = match look.width {
        Some(width) => renderer.term_width(width.max(terminal::LEAST)),
        None => renderer,
    };
    let mut output = String::new();
    for finding in file.findings {
        let shown = Shown {
            name: file.name,
            text: file.text,
            finding,
            width: look.width,
        };
        // A terminal that shows colours shows links, too.
        let page = pages.url(finding.rule).filter(|_| look.coloured);
        output.push_str(&shown.by(&renderer, page));
        output.push_str("\n\n");
    }
    output
}

/// A finding as it is shown.
struct Shown<'a> {
    name: &'a str,
    text: &'a str,
    finding: &'a Finding,
    width: Option<usize>,
}

impl Shown<'_> {
    fn by(&self, renderer: &Renderer, page: Option<String>) -> String {
        let Self {
            name, text, finding, ..
        } = *self;
        let level = match finding.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let before = finding.severity.as_str().len() + finding.rule.len() + "[]: ".len();
        let title = level.primary_title(self.wrapped(&finding.title, before));
        let title = title.id(finding.rule);
        let title = match page {
            Some(page) => title.id_url(page),
            None => title,
        };
        let start = finding.place.start;
        let note = |text: &str| Level::NOTE.message(self.wrapped(text, "   = note: ".len()).into_owned());
        let (label, rest) = self.label();
        let (group, unlabelled) = match excerpt(name, text, finding, label.as_deref()) {
            Some(snippet) => (title.element(snippet), rest),
            None => (
                title.element(Origin::path(name).line(start.line).char_column(start.column)),
                finding.field_of_object(),
            ),
        };
        let source = finding
            .source
            .as_ref()
            .map(|source| format!("rendered from {source}"));
        let notes = [
            unlabelled,
            finding.consequence.clone(),
            finding.remark.clone(),
            source,
            finding.see(),
        ];
        let group = group.elements(notes.iter().flatten().map(|text| note(text)));
        let Some(suggestion) = &finding.suggestion else {
            return renderer.render(&[group]);
        };
        if let Some(patch) = finding.edit().and_then(|edit| patch(name, text, edit)) {
            let help = Level::HELP.secondary_title(self.wrapped(suggestion, "help: ".len()));
            renderer.render(&[group, help.element(patch)])
        } else {
            let help = Level::HELP.message(self.wrapped(suggestion, "   = help: ".len()));
            renderer.render(&[group.element(help)])
        }
    }

    /// Field and object in two parts: what stands beside the marked text, as far as it fits, and the rest of them.
    fn label(&self) -> (Option<String>, Option<String>) {
        let finding = self.finding;
        let Some(whole) = finding.field_of_object() else {
            return (None, None);
        };
        let before = self.columns_before_label();
        let fits = |label: &str| match (self.width, before) {
            (None, _) => true,
            (Some(width), Some(before)) => before + label.chars().count() <= width,
            (Some(_), None) => false,
        };
        if fits(&whole) {
            return (Some(whole), None);
        }
        match (&finding.field, &finding.object) {
            (Some(field), Some(object)) if fits(&field.to_string()) => {
                (Some(field.to_string()), Some(object.to_string()))
            }
            _ => (None, Some(whole)),
        }
    }

    /// How many columns the line number and the marked text take.
    fn columns_before_label(&self) -> Option<usize> {
        let place = self.finding.place;
        let marked = if place.end.line == place.start.line {
            place.end.column
        } else {
            let line = line_around(self.text, place.span)?;
            place.start.column + self.text.get(place.span.start()..line.end)?.chars().count()
        };
        Some(place.start.line.to_string().len() + " | ".len() + marked)
    }

    /// A text wrapped to fit the terminal after `before` columns. Without a terminal it is not wrapped.
    fn wrapped<'t>(&self, text: &'t str, before: usize) -> Cow<'t, str> {
        let Some(width) = self.width else {
            return Cow::Borrowed(text);
        };
        Cow::Owned(terminal::prose(text, width.saturating_sub(before)))
    }
}

/// The line as it would be with the suggestion.
fn patch<'t>(name: &'t str, text: &'t str, edit: &TextEdit) -> Option<Snippet<'t, Patch<'t>>> {
    let line = line_around(text, edit.place.span)?;
    let span = edit.place.span;
    let within = span.start() - line.start..span.end().min(line.end) - line.start;
    Some(
        Snippet::source(text.get(line)?)
            .line_start(edit.place.start.line)
            .path(name)
            .patch(Patch::new(within, edit.text.clone())),
    )
}

/// The lines of the finding, and of the other places that it depends on if they are near.
fn excerpt<'t>(
    name: &'t str,
    text: &'t str,
    finding: &Finding,
    label: Option<&'t str>,
) -> Option<Snippet<'t, annotate_snippets::Annotation<'t>>> {
    // A place inside a character is no excerpt.
    text.get(finding.place.span.range())?;
    let own = line_around(text, finding.place.span).filter(|_| !text.is_empty())?;
    let is_near = |place: &&SourceRange| place.start.line.abs_diff(finding.place.start.line) <= FARTHEST;
    let beside = finding.elsewhere.iter().filter(|other| other.file == name);
    let related: Vec<(SourceRange, Range<usize>)> = finding
        .related
        .iter()
        .map(|related| &related.place)
        .chain(beside.map(|other| &other.place))
        .filter(is_near)
        .filter_map(|place| Some((*place, line_around(text, place.span)?)))
        .collect();
    let starts = related.iter().map(|(place, line)| (place.start.line, line.start));
    let (first, start) = starts.fold((finding.place.start.line, own.start), Ord::min);
    let end = related.iter().fold(own.end, |end, (_, line)| end.max(line.end));
    let window = start..end;
    let within = |span: Span, line: &Range<usize>| {
        let end = span.end().min(line.end).max(span.start());
        span.start() - window.start..end - window.start
    };
    let others = related
        .iter()
        .map(|(place, line)| AnnotationKind::Context.span(within(place.span, line)));
    Some(
        Snippet::source(text.get(window.clone())?)
            .line_start(first)
            .path(name)
            .annotation(
                AnnotationKind::Primary
                    .span(within(finding.place.span, &own))
                    .label(label),
            )
            .annotations(others.collect::<Vec<_>>()),
    )
}

/// The line on which a span begins, without its line end; `None` for a very long one.
fn line_around(text: &str, span: Span) -> Option<Range<usize>> {
    let mark = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    let from = text
        .floor_char_boundary(span.start().saturating_sub(LONGEST_LINE))
        .max(mark);
    let to = text.floor_char_boundary(span.start().saturating_add(LONGEST_LINE).min(text.len()));
    let start = match text.get(from..span.start())?.rfind('\n') {
        Some(newline) => from + newline + 1,
        None if from == mark => mark,
        None => return None,
    };
    let end = match text.get(span.start()..to)?.find('\n') {
        Some(newline) => span.start() + newline,
        None if to == text.len() => to,
        None => return None,
    };
    let line = text.get(start..end)?;
    Some(start..start + line.strip_suffix('\r').unwrap_or(line).len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use poolgate_core::manifest::Position;

    #[test]
    fn a_finding_is_as_wide_as_the_terminal_and_whole_where_there_is_none() {
        let text = "spec: 1\n";
        let position = |column| Position { line: 1, column };
        let place = SourceRange {
            span: Span::new(6, 7),
            start: position(7),
            end: position(8),
        };
        let finding = Finding {
            title: "a word ".repeat(30),
            suggestion: Some("another word ".repeat(30)),
            ..Finding::at("manifest-kind", Severity::Error, place)
        };
        let shown = |width| {
            let look = Look {
                coloured: false,
                width,
            };
            let report = FileReport {
                name: "a.yaml",
                text,
                objects: 1,
                findings: std::slice::from_ref(&finding),
                fixed: None,
            };
            file(&report, look, RulePages::default())
        };
        let longest = |width| shown(width).lines().map(|line| line.chars().count()).max();
        assert!(longest(Some(80)) <= Some(80), "{}", shown(Some(80)));
        assert!(longest(None) > Some(200));
        let words = |width| shown(width).matches("word").count();
        assert_eq!(words(Some(80)), words(None));
    }
}
