//! One document of a manifest: its value, and the position of everything in it.

use std::collections::HashMap;

use serde_json::Value;

use crate::json::Json;

use super::problem::{ManifestProblem, ProblemKind, Problems};
use super::resolve::{self, Reading, Resolved};
use super::tree::{NodeId, NodeRef, Tree};
use super::{Limits, Span};

/// A comment, for suppressions and labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comment<'t> {
    /// The text after `#`, up to the end of the line.
    pub text: &'t str,
    /// Its position, `#` included.
    pub span: Span,
}

/// One YAML document of a file.
#[derive(Debug)]
pub struct Document<'t> {
    pub(crate) tree: Tree<'t>,
    pub(crate) limits: Limits,
    /// How many elements of its value a node in a list became, if that is not one.
    pub(crate) lengths: HashMap<NodeId, usize>,
    span: Span,
    value: Json<'t>,
    comments: Vec<Comment<'t>>,
    problems: Problems,
    variables: Vec<Span>,
}

impl<'t> Document<'t> {
    /// A document that was read to its end.
    pub(crate) fn complete(
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
            lengths,
        } = resolve::value(text, &tree, reading);
        let (value, tree) = match value {
            Some(value) => (value, tree),
            // The aliases of a document that has too many of them must not be followed.
            None => (Json::Null, Tree::default()),
        };
        problems.sort();
        Self {
            tree,
            limits,
            lengths,
            span,
            value,
            comments,
            problems,
            variables,
        }
    }

    /// A document that could not be read.
    pub(crate) fn broken(span: Span, comments: Vec<Comment<'t>>, problem: ManifestProblem) -> Self {
        let mut problems = Problems::default();
        problems.push_related(problem.span, problem.related, problem.kind);
        Self {
            tree: Tree::default(),
            limits: Limits::default(),
            lengths: HashMap::new(),
            span,
            value: Json::Null,
            comments,
            problems,
            variables: Vec::new(),
        }
    }

    /// The value that the API server would receive: null for an empty document and for one that could not be read.
    pub fn value(&self) -> &Json<'t> {
        &self.value
    }

    /// The value as an owned tree, for callers that keep or change it.
    pub fn into_value(self) -> Value {
        Value::from(&self.value)
    }

    /// From its `---` or first word to its end. Up to the mistake, if it could not be read.
    pub fn span(&self) -> Span {
        self.span
    }

    /// The problems of the text in its order; only the first of very many.
    pub fn problems(&self) -> &[ManifestProblem] {
        self.problems.kept()
    }

    /// How many problems were found beyond [`Document::problems`].
    pub fn omitted_problems(&self) -> usize {
        self.problems.omitted()
    }

    /// The problem because of which nothing of the document could be read, if there is one.
    pub fn unreadable(&self) -> Option<&ManifestProblem> {
        let unreadable = |kind: &ProblemKind| matches!(kind, ProblemKind::Syntax(_)) || kind.is_limit();
        let mut problems = self.problems.kept().iter();
        problems
            .find(|problem| unreadable(&problem.kind))
            .or_else(|| self.problems.kept().first().filter(|_| self.tree.len() == 0))
    }

    /// The keys and values that still contain variables because no value was given; empty unless variables were
    /// filled in.
    pub fn variables(&self) -> &[Span] {
        &self.variables
    }

    /// Its comments, including those directly above it.
    pub fn comments(&self) -> &[Comment<'t>] {
        &self.comments
    }

    /// The tree as written, for callers that change the text; `None` if the document could not be read.
    pub fn root(&self) -> Option<NodeRef<'_, 't>> {
        NodeRef::root(&self.tree)
    }
}
