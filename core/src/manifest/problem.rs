//! The mistakes in the text of a manifest, whatever it means.

use std::fmt;

use crate::diagnostic::{Severity, quoted, sentences};

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

/// The kinds of [`ManifestProblem`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProblemKind {
    /// The text is not YAML; nothing of the document is read.
    Syntax(SyntaxError),
    /// The text contains `{{ … }}`.
    Template {
        /// Whether it is Helm's.
        is_helms: bool,
    },
    /// A key is written twice in one mapping.
    DuplicateKey {
        /// The key as the API server sees it.
        key: String,
    },
    /// A merge below an explicit key replaces its value.
    MergeReplaces {
        /// The key as the API server sees it.
        key: String,
    },
    /// The value of `<<` is not a mapping or a list of mappings.
    MergeOfNoMapping,
    /// A key that is not a string and is converted to one.
    NonTextKey {
        /// The key as the API server sees it.
        becomes: String,
    },
    /// A key that is null or empty.
    NullKey,
    /// A key that is a list or a mapping.
    CompoundKey,
    /// A number as a key that kubectl cannot convert to a string.
    HugeKey,
    /// `.inf` or `.nan`, which YAML has and JSON does not.
    NotFinite,
    /// A value that is not what its tag says.
    WrongTag {
        /// The type that the tag requires, as the message calls it.
        tag: &'static str,
        /// The value as written.
        text: String,
    },
    /// An alias without an anchor.
    UnknownAlias {
        /// The name after `*`.
        name: String,
    },
    /// An alias inside of its own target.
    RecursiveAlias,
    /// More nesting than [`super::Limits::depth`].
    TooDeep {
        /// The most levels that are read.
        limit: usize,
    },
    /// More nodes than [`super::Limits::nodes`].
    TooManyNodes {
        /// The most keys and values that are read of a document.
        limit: usize,
    },
    /// More comments than [`super::Limits::comments`].
    TooManyComments {
        /// The most comments that are read of a document.
        limit: usize,
    },
    /// More documents than [`super::Limits::documents`].
    TooManyDocuments {
        /// The most documents that are read of a file.
        limit: usize,
    },
    /// Aliases add more than [`super::Limits::alias_nodes`] or [`super::Limits::alias_bytes`].
    TooMuchAliased,
    /// A longer text than [`super::Limits::bytes`].
    TooLarge {
        /// The largest file that is read, in bytes.
        limit: usize,
    },
}

/// The consequence of most problems.
const REJECTED: &str = "the file is rejected by kubectl";

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = sentences(self.title(), [self.help(), self.consequence()]);
        f.write_str(text.strip_suffix('.').unwrap_or(&text))
    }
}

impl ProblemKind {
    /// The problem: a clause without a full stop.
    pub fn title(&self) -> String {
        match self {
            Self::Syntax(error) => error.title(),
            Self::Template { .. } => "this looks like an unrendered template".into(),
            Self::DuplicateKey { key } => format!("the key {} is already set", quoted(key)),
            Self::MergeReplaces { key } => format!("`<<` replaces the value of {}", quoted(key)),
            Self::MergeOfNoMapping => {
                "the value of `<<` must be a mapping, an alias of one, or a list of these".into()
            }
            Self::NonTextKey { becomes } => {
                format!(
                    "this key is not a string, and kubectl converts it to {}",
                    quoted(becomes)
                )
            }
            Self::NullKey => "a key must not be null or empty".into(),
            Self::CompoundKey => "a key must be a string, not a list or a mapping".into(),
            Self::HugeKey => "a number of this size cannot be a key".into(),
            Self::NotFinite => "JSON has no infinity and no \"not a number\"".into(),
            Self::WrongTag { tag, text } => format!("{} is not a valid {tag}", quoted(text)),
            Self::UnknownAlias { name } => format!("there is no anchor named {} above", quoted(name)),
            Self::RecursiveAlias => "the alias is inside its own anchor".into(),
            Self::TooDeep { limit } => format!("the document is nested deeper than {limit} levels"),
            Self::TooManyNodes { limit } => format!("the document has more than {limit} keys and values"),
            Self::TooManyComments { limit } => format!("the document has more than {limit} comments"),
            Self::TooManyDocuments { limit } => format!("the file has more than {limit} documents"),
            Self::TooMuchAliased => "aliases make the document too large".into(),
            Self::TooLarge { limit } => format!("the file is larger than {limit} bytes"),
        }
    }

    /// What follows from it: a clause without a full stop.
    pub const fn consequence(&self) -> Option<&'static str> {
        match self {
            Self::DuplicateKey { .. } => {
                Some("the last value counts for kubectl, and kustomize rejects the file")
            }
            Self::MergeReplaces { .. } => {
                Some("the later value counts for kubectl, the explicit one for kustomize")
            }
            Self::NullKey | Self::CompoundKey | Self::HugeKey | Self::NotFinite | Self::WrongTag { .. } => {
                Some(REJECTED)
            }
            Self::TooManyNodes { .. } | Self::TooManyDocuments { .. } => {
                Some("the rest of the file is not read")
            }
            Self::TooLarge { .. } => Some("nothing of the file is read"),
            _ => None,
        }
    }

    /// What to do about it: an imperative.
    pub const fn help(&self) -> Option<&'static str> {
        match self {
            Self::Syntax(error) => error.help(),
            Self::Template { is_helms: true } => Some("check the output of `helm template` instead"),
            Self::Template { is_helms: false } => Some("check the rendered output instead"),
            Self::MergeReplaces { .. } => Some("put `<<` first"),
            Self::NonTextKey { .. } | Self::HugeKey => Some("quote it"),
            Self::NotFinite => Some("quote it if it should be a string"),
            Self::UnknownAlias { .. } => Some("quote the value if it should begin with `*`"),
            _ => None,
        }
    }

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

/// How many problems of one document are kept. A hostile text can consist of nothing else.
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
