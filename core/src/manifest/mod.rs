//! Manifests from files: YAML and JSON text to the value that the API server would receive, with the position of
//! every value in the text.
//!
//! [`parse`] walks the documents. A broken document is reported and its neighbours are still read. Scalars, keys,
//! merges and duplicates mean what they mean to kubectl. All work is bounded by [`Limits`]: the text may come from
//! anyone.
//!
//! Knows nothing of NodePools, rules, or how a finding is shown.

mod as_words;
mod compose;
mod document;
mod documents;
mod float;
mod key;
mod limits;
mod lines;
mod locate;
mod merge;
mod objects;
mod problem;
mod resolve;
mod scalar;
mod span;
mod syntax;
mod template;
mod tree;
mod variables;

#[cfg(test)]
mod tests;

pub use document::{Comment, Document};
pub use documents::{Documents, parse, parse_with};
pub use limits::Limits;
pub use lines::{Lines, Position};
pub use locate::{Form, Location};
pub use objects::{ManifestObject, each_object};
pub use problem::{ManifestProblem, ProblemKind};
pub use scalar::is_text;
pub use span::Span;
pub use syntax::SyntaxError;
pub use tree::{NodeKind, NodeRef, Style};
pub use variables::{NoVariable, Variables, can_be_given, has_variable, variables_in};
