//! The names under which lint tells what only it sees, beside those of the rules: mistakes in the text itself, objects
//! that no cluster takes, files that cannot be read.

use poolgate_core::diagnostic::Severity;

use super::finding::Finding;
use poolgate_core::manifest::ProblemKind;

/// An object that the cluster does not serve.
pub(super) const KIND: &str = "manifest-kind";

/// An object without a name.
pub(super) const NAME: &str = "manifest-name";

/// A field without which the cluster takes the object only once the webhook has completed it.
pub(super) const DEFAULT: &str = "manifest-default";

/// A file named as JSON that is only YAML.
pub(super) const JSON: &str = "manifest-json";

/// Values that are variables, to be filled in by another program.
pub(super) const VARIABLE: &str = "manifest-variable";

/// A version for which nobody says which release is meant.
pub(super) const RELEASE: &str = "manifest-release";

/// A file that could not be read, or not be written. No comment can ignore it.
pub(super) const UNREADABLE: &str = "file-unreadable";

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

/// Notes on what stands beside the objects, the release and the gates of Karpenter: they are the same for each of them.
const ONCE: [&str; 2] = [RELEASE, "replicas-gate"];

/// Whether a finding is told once in a run. Whoever gives its rule a level wants to see each.
pub(super) fn is_told_once(finding: &Finding) -> bool {
    finding.severity == Severity::Info && ONCE.contains(&finding.rule)
}

/// Whether a name is one of these.
pub(super) fn is_one(name: &str) -> bool {
    NAMES.contains(&name)
}

const NAMES: [&str; 14] = [
    KIND,
    NAME,
    DEFAULT,
    JSON,
    VARIABLE,
    RELEASE,
    "manifest-syntax",
    "manifest-template",
    "manifest-duplicate-key",
    "manifest-merge",
    "manifest-key",
    "manifest-value",
    "manifest-alias",
    "manifest-limit",
];
