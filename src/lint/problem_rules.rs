//! Which of lint's own names a mistake in a text goes by, and which are reported once.

use poolgate_core::diagnostic::Severity;
use poolgate_core::manifest::ProblemKind;

use super::finding::Finding;
use crate::text_rules::{
    ALIAS, DUPLICATE_KEY, IGNORE_SYNTAX, IGNORE_UNKNOWN, IGNORE_UNUSED, KEY, LIMIT, MERGE, RELEASE, SYNTAX,
    TEMPLATE, UNREADABLE, VALUE,
};

/// The name for a kind of problem.
pub(super) const fn name(kind: &ProblemKind) -> &'static str {
    match kind {
        ProblemKind::Syntax(_) => SYNTAX,
        ProblemKind::Template => TEMPLATE,
        ProblemKind::DuplicateKey { .. } => DUPLICATE_KEY,
        ProblemKind::MergeReplaces { .. } | ProblemKind::MergeOfNoMapping => MERGE,
        ProblemKind::NonTextKey { .. }
        | ProblemKind::NullKey
        | ProblemKind::CompoundKey
        | ProblemKind::HugeKey => KEY,
        ProblemKind::NotFinite | ProblemKind::WrongTag { .. } => VALUE,
        ProblemKind::UnknownAlias { .. } | ProblemKind::RecursiveAlias => ALIAS,
        ProblemKind::TooDeep { .. }
        | ProblemKind::TooManyNodes { .. }
        | ProblemKind::TooManyComments { .. }
        | ProblemKind::TooManyDocuments { .. }
        | ProblemKind::TooMuchAliased
        | ProblemKind::TooLarge { .. } => LIMIT,
    }
}

/// Notes on what is beside the objects, the release and the gates of Karpenter: they are the same for each of them.
const ONCE: [&str; 2] = [RELEASE, "replicas-gate"];

/// Whether a finding is reported once in a run. Whoever gives its rule a level wants to see each.
pub(super) fn is_told_once(finding: &Finding) -> bool {
    finding.severity == Severity::Info && ONCE.contains(&finding.rule)
}

/// Whether a comment may ignore what is told under a name. What is wrong with the comments themselves it may not.
pub(super) fn is_ignorable(name: &str) -> bool {
    ![UNREADABLE, IGNORE_SYNTAX, IGNORE_UNKNOWN, IGNORE_UNUSED].contains(&name)
}
