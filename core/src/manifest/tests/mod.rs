//! What involves several modules of `manifest`: text in, values, positions and problems out.

mod documents;
mod hostile;
mod kubectl;
mod places;
mod property;

use super::{Document, Limits, Lines, ManifestProblem, parse};

fn all(text: &str) -> Vec<Document<'_>> {
    parse(text, &Limits::default()).collect()
}

/// The only document of a text.
fn one(text: &str) -> Document<'_> {
    let mut documents = all(text);
    assert_eq!(documents.len(), 1, "{text:?}");
    documents.remove(0)
}

/// `line:column clause`, followed by the related position.
fn shown(text: &str, problem: &ManifestProblem) -> String {
    let lines = Lines::new(text);
    let place = |span: super::Span| lines.position(span.start()).to_string();
    let related = problem.related.map(|span| format!(" (see {})", place(span)));
    format!(
        "{} {}{}",
        place(problem.span),
        problem,
        related.unwrap_or_default()
    )
}

fn problems(text: &str) -> Vec<String> {
    let documents = all(text);
    let problems = documents.iter().flat_map(Document::problems);
    problems.map(|problem| shown(text, problem)).collect()
}
