//! One document of a manifest: its value, and where everything in it stands.

use serde_json::Value;

use crate::json::Json;

use super::problem::{ManifestProblem, ProblemKind, Problems};
use super::resolve::{self, Reading, Resolved};
use super::tree::{NodeRef, Tree};
use super::{Limits, Span};

/// A comment, for suppressions and labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comment<'t> {
    /// What is behind `#`, up to the end of the line.
    pub text: &'t str,
    /// Where it stands, `#` included.
    pub span: Span,
}

/// One document.
#[derive(Debug)]
pub struct Document<'t> {
    pub(super) tree: Tree<'t>,
    pub(super) limits: Limits,
    span: Span,
    value: Json<'t>,
    comments: Vec<Comment<'t>>,
    problems: Problems,
    variables: Vec<Span>,
}

impl<'t> Document<'t> {
    /// A document that was read to its end.
    pub(super) fn complete(
        text: &'t str,
        span: Span,
        tree: Tree<'t>,
        comments: Vec<Comment<'t>>,
        reading: Reading<'_>,
    ) -> Self {
        let limits = reading.limits;
        let Resolved {
            value,
            mut problems,
            variables,
        } = resolve::value(text, &tree, reading);
        let (value, tree) = match value {
            Some(value) => (value, tree),
            // Nothing may walk the aliases of a document that has too many of them.
            None => (Json::Null, Tree::default()),
        };
        problems.sort();
        Self {
            tree,
            limits,
            span,
            value,
            comments,
            problems,
            variables,
        }
    }

    /// A document that could not be read.
    pub(super) fn broken(span: Span, comments: Vec<Comment<'t>>, problem: ManifestProblem) -> Self {
        let mut problems = Problems::default();
        problems.push_related(problem.span, problem.related, problem.kind);
        Self {
            tree: Tree::default(),
            limits: Limits::default(),
            span,
            value: Json::Null,
            comments,
            problems,
            variables: Vec::new(),
        }
    }

    /// The value that the API server would receive: null for an empty document and for one that could not
    /// be read.
    pub fn value(&self) -> &Json<'t> {
        &self.value
    }

    /// The value as a tree of its own, for whoever keeps or changes it.
    pub fn into_value(self) -> Value {
        Value::from(&self.value)
    }

    /// From its `---` or first word to its end. Up to the place of the mistake, if it could not be read.
    pub fn span(&self) -> Span {
        self.span
    }

    /// What is wrong with the text, in its order; of very many the first.
    pub fn problems(&self) -> &[ManifestProblem] {
        self.problems.kept()
    }

    /// How many problems were found beyond [`Document::problems`].
    pub fn omitted_problems(&self) -> usize {
        self.problems.omitted()
    }

    /// The problem for which nothing of the document could be read, if there is one.
    pub fn unreadable(&self) -> Option<&ManifestProblem> {
        let unreadable = |kind: &ProblemKind| matches!(kind, ProblemKind::Syntax(_)) || kind.is_limit();
        let mut problems = self.problems.kept().iter();
        problems
            .find(|problem| unreadable(&problem.kind))
            .or_else(|| self.problems.kept().first().filter(|_| self.tree.len() == 0))
    }

    /// The keys and values in which variables are left that nobody could fill in; none if nobody tried.
    pub fn variables(&self) -> &[Span] {
        &self.variables
    }

    /// Its comments, those directly above it among them.
    pub fn comments(&self) -> &[Comment<'t>] {
        &self.comments
    }

    /// The tree as written, for whoever changes the text; none if the document could not be read.
    pub fn root(&self) -> Option<NodeRef<'_, 't>> {
        NodeRef::root(&self.tree)
    }
}
