//! Findings with the lines that they are about.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Origin, Patch, Renderer, Snippet};
use poolgate_core::diagnostic::Severity;

use super::super::finding::Finding;
use super::super::fix::TextEdit;
use super::super::source_range::SourceRange;
use super::FileReport;
use poolgate_core::manifest::Span;

/// Longest line that is shown, in bytes. Of a longer one only the place is told.
const LONGEST_LINE: usize = 1000;

/// Most lines between the first and the last place of one excerpt; a place further away is left out.
const FARTHEST: usize = 40;

pub(super) fn file(file: &FileReport<'_>, coloured: bool) -> String {
    let renderer = if coloured {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let mut output = String::new();
    for finding in file.findings {
        output.push_str(&shown(file.name, file.text, finding, &renderer));
        output.push_str("\n\n");
    }
    output
}

fn shown(name: &str, text: &str, finding: &Finding, renderer: &Renderer) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let title = level.primary_title(finding.sentence()).id(finding.rule);
    let start = finding.place.start;
    let group = match excerpt(name, text, finding) {
        Some(snippet) => title.element(snippet),
        None => title.element(Origin::path(name).line(start.line).char_column(start.column)),
    };
    let group = match &finding.source {
        Some(source) => group.element(Level::NOTE.message(format!("rendered from {source}"))),
        None => group,
    };
    let Some(suggestion) = &finding.suggestion else {
        return renderer.render(&[group]);
    };
    match finding.edit.as_ref().and_then(|edit| patch(name, text, edit)) {
        Some(patch) => {
            let help = Level::HELP.secondary_title(suggestion.as_str());
            renderer.render(&[group, help.element(patch)])
        }
        None => renderer.render(&[group.element(Level::HELP.message(suggestion.as_str()))]),
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

/// The lines of the finding, and of the other places that it rests on where they are near.
fn excerpt<'t>(
    name: &'t str,
    text: &'t str,
    finding: &Finding,
) -> Option<Snippet<'t, annotate_snippets::Annotation<'t>>> {
    let own = line_around(text, finding.place.span).filter(|_| !text.is_empty())?;
    let is_near = |place: &&SourceRange| place.start.line.abs_diff(finding.place.start.line) <= FARTHEST;
    let related: Vec<(SourceRange, Range<usize>)> = finding
        .related
        .iter()
        .filter(is_near)
        .filter_map(|place| Some((*place, line_around(text, place.span)?)))
        .collect();
    let places = || related.iter().map(|(place, line)| (place.start.line, line));
    let first = places().fold((finding.place.start.line, own.start), |first, (number, line)| {
        first.min((number, line.start))
    });
    let end = places().fold(own.end, |end, (_, line)| end.max(line.end));
    let window = first.1..end;
    let within = |span: Span, line: &Range<usize>| {
        let end = span.end().min(line.end).max(span.start());
        span.start() - window.start..end - window.start
    };
    let others = related
        .iter()
        .map(|(place, line)| AnnotationKind::Context.span(within(place.span, line)));
    Some(
        Snippet::source(text.get(window.clone())?)
            .line_start(first.0)
            .path(name)
            .annotation(AnnotationKind::Primary.span(within(finding.place.span, &own)))
            .annotations(others.collect::<Vec<_>>()),
    )
}

/// The line on which a span begins, without its end; none for a very long one.
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
