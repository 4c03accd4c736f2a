//! What can be wrong with a manifest, whatever it means.

use crate::diagnostic::{Severity, quoted};

use super::{Span, SyntaxError};

/// Something wrong in the text of a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct ManifestProblem {
    /// The bytes to point at.
    pub span: Span,
    /// A related position: the first of two equal keys, the bracket that is still open.
    pub related: Option<Span>,
    /// What is wrong there.
    pub kind: ProblemKind,
}

/// The kinds of [`ManifestProblem`]. Each reads as a clause without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProblemKind {
    /// The text is not YAML; nothing of the document is read.
    #[error("{0}")]
    Syntax(SyntaxError),
    /// The text contains `{{ … }}`.
    #[error("this looks like a template that was not rendered: lint {} instead", rendered(*.is_helms))]
    Template {
        /// Whether it is Helm's.
        is_helms: bool,
    },
    /// A key is written twice in one mapping.
    #[error("the key {} is already set: kubectl keeps the last value, kustomize rejects the file", quoted(.key))]
    DuplicateKey {
        /// The key as the API server sees it.
        key: String,
    },
    /// A merge below an explicit key replaces its value.
    #[error(
        "`<<` replaces the value of {}: kubectl uses the later one, kustomize the explicit one; put `<<` first",
        quoted(.key)
    )]
    MergeReplaces {
        /// The key as the API server sees it.
        key: String,
    },
    /// The value of `<<` is not a mapping or a list of mappings.
    #[error("the value of `<<` must be a mapping, an alias of one, or a list of these")]
    MergeOfNoMapping,
    /// A key that is not text and is converted to text.
    #[error("this key is not text to kubectl and becomes {}: quote it", quoted(.becomes))]
    NonTextKey {
        /// The key as the API server sees it.
        becomes: String,
    },
    /// A key that is null or empty.
    #[error("a key must not be null or empty: kubectl rejects the file")]
    NullKey,
    /// A key that is a list or a mapping.
    #[error("a key must be text, not a list or a mapping: kubectl rejects the file")]
    CompoundKey,
    /// A number as a key that kubectl cannot convert to text.
    #[error("a number of this size cannot be a key: kubectl rejects the file; quote it")]
    HugeKey,
    /// `.inf` or `.nan`, which YAML has and JSON does not.
    #[error(
        "infinity and \"not a number\" cannot be written in JSON: kubectl rejects the file; quote it if it should be text"
    )]
    NotFinite,
    /// A value that is not what its tag says.
    #[error("{} is not a valid {tag}: kubectl rejects the file", quoted(.text))]
    WrongTag {
        /// What the tag asks for, as the message calls it.
        tag: &'static str,
        /// The value as written.
        text: String,
    },
    /// An alias without an anchor.
    #[error("there is no anchor named {} above; quote the value if it should begin with `*`", quoted(.name))]
    UnknownAlias {
        /// The name after `*`.
        name: String,
    },
    /// An alias inside of its own target.
    #[error("the alias is inside its own anchor")]
    RecursiveAlias,
    /// More nesting than [`super::Limits::depth`].
    #[error("nested deeper than {limit} levels")]
    TooDeep {
        /// The most levels that are read.
        limit: usize,
    },
    /// More nodes than [`super::Limits::nodes`].
    #[error("more than {limit} keys and values in one document; the rest of the file is not read")]
    TooManyNodes {
        /// The most keys and values that are read of a document.
        limit: usize,
    },
    /// More comments than [`super::Limits::comments`].
    #[error("more than {limit} comments in one document")]
    TooManyComments {
        /// The most comments that are read of a document.
        limit: usize,
    },
    /// More documents than [`super::Limits::documents`].
    #[error("more than {limit} documents in one file; the rest is not read")]
    TooManyDocuments {
        /// The most documents that are read of a file.
        limit: usize,
    },
    /// Aliases add more than [`super::Limits::alias_nodes`] or [`super::Limits::alias_bytes`].
    #[error("aliases make the document too large")]
    TooMuchAliased,
    /// A longer text than [`super::Limits::bytes`].
    #[error("larger than {limit} bytes; nothing is read")]
    TooLarge {
        /// The largest file that is read, in bytes.
        limit: usize,
    },
}

impl ProblemKind {
    /// Its severity: an error if kubectl, kustomize or poolgate's own bounds reject the text.
    pub const fn severity(&self) -> Severity {
        match self {
            Self::NonTextKey { .. } | Self::MergeReplaces { .. } => Severity::Warning,
            _ => Severity::Error,
        }
    }

    /// Whether it is one of poolgate's own bounds, so that something was not read.
    pub const fn is_limit(&self) -> bool {
        matches!(
            self,
            Self::TooDeep { .. }
                | Self::TooManyNodes { .. }
                | Self::TooManyComments { .. }
                | Self::TooManyDocuments { .. }
                | Self::TooMuchAliased
                | Self::TooLarge { .. }
        )
    }
}

/// How many problems of one document are kept. Nobody reads more, and a hostile text can consist of nothing else.
const MAX_KEPT: usize = 100;

/// The problems of one document, bounded.
#[derive(Debug, Default)]
pub struct Problems {
    kept: Vec<ManifestProblem>,
    found: usize,
}

impl Problems {
    pub fn push(&mut self, span: Span, kind: ProblemKind) {
        self.push_related(span, None, kind);
    }

    pub fn push_related(&mut self, span: Span, related: Option<Span>, kind: ProblemKind) {
        self.found += 1;
        if !self.is_full() {
            self.kept.push(ManifestProblem { span, related, kind });
        }
    }

    /// Whether further problems are only counted.
    pub fn is_full(&self) -> bool {
        self.kept.len() >= MAX_KEPT
    }

    pub fn kept(&self) -> &[ManifestProblem] {
        &self.kept
    }

    pub fn omitted(&self) -> usize {
        self.found - self.kept.len()
    }

    /// Sorts by the order of the text: an alias or a merge is visited after what it points to.
    pub fn sort(&mut self) {
        self.kept.sort_by_key(|problem| problem.span);
    }
}

/// What to check in place of a template.
const fn rendered(is_helms: bool) -> &'static str {
    if is_helms {
        "the output of `helm template`"
    } else {
        "what is rendered from it"
    }
}
