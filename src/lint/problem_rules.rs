//! The names under which mistakes in the text itself are told, beside those of the rules.

use crate::manifest::ProblemKind;

/// The name for a kind of problem.
pub(super) const fn name(kind: &ProblemKind) -> &'static str {
    match kind {
        ProblemKind::Syntax(_) => "manifest-syntax",
        ProblemKind::Template => "manifest-template",
        ProblemKind::DuplicateKey { .. } => "manifest-duplicate-key",
        ProblemKind::MergeReplaces { .. } | ProblemKind::MergeOfNoMapping => "manifest-merge",
        ProblemKind::NonTextKey { .. }
        | ProblemKind::NullKey
        | ProblemKind::CompoundKey
        | ProblemKind::HugeKey => "manifest-key",
        ProblemKind::NotFinite | ProblemKind::WrongTag { .. } => "manifest-value",
        ProblemKind::UnknownAlias { .. } | ProblemKind::RecursiveAlias => "manifest-alias",
        ProblemKind::TooDeep { .. }
        | ProblemKind::TooManyNodes { .. }
        | ProblemKind::TooManyComments { .. }
        | ProblemKind::TooManyDocuments { .. }
        | ProblemKind::TooMuchAliased
        | ProblemKind::TooLarge { .. } => "manifest-limit",
    }
}

/// Whether a name is one of these.
pub(super) fn is_one(name: &str) -> bool {
    NAMES.contains(&name)
}

const NAMES: [&str; 8] = [
    "manifest-syntax",
    "manifest-template",
    "manifest-duplicate-key",
    "manifest-merge",
    "manifest-key",
    "manifest-value",
    "manifest-alias",
    "manifest-limit",
];
