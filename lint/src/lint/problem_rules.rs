//! The names of lint itself for mistakes in a text, and which of them are reported once.

use poolgate_core::diagnostic::Severity;
use poolgate_core::manifest::{ManifestProblem, ProblemKind};

use super::finding::Finding;
use crate::text_rules::{
    ALIAS, DUPLICATE_KEY, IGNORE_SYNTAX, IGNORE_UNKNOWN, IGNORE_UNUSED, KEY, LIMIT, MERGE, RELEASE, SYNTAX,
    TEMPLATE, UNREADABLE, VALUE,
};

/// The name for a kind of problem.
pub const fn name(kind: &ProblemKind) -> &'static str {
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

/// Notes on the release and the feature gates of Karpenter: they are the same for every object.
const ONCE: [&str; 2] = [RELEASE, "replicas-gate"];

/// Whether a finding is reported once in a run. If its rule has a level in the policy, each one is reported.
pub fn is_reported_once(finding: &Finding) -> bool {
    finding.severity == Severity::Info && ONCE.contains(&finding.rule)
}

/// Whether a comment may ignore findings of this name. Mistakes in the comments themselves cannot be ignored.
pub fn is_ignorable(name: &str) -> bool {
    ![UNREADABLE, IGNORE_SYNTAX, IGNORE_UNKNOWN, IGNORE_UNUSED].contains(&name)
}

/// What is wrong with a text. One that has no line of a manifest is of another kind: advice on single characters would not
/// help.
pub fn described(problem: &ManifestProblem, text: &str) -> String {
    let is_manifest = |line: &str| {
        let line = line.trim_start_matches(['-', ' ', '\t', '{', '"', '\'', '\u{feff}']);
        line.starts_with("apiVersion") || line.starts_with("kind")
    };
    match problem.kind {
        ProblemKind::Syntax(_) if !text.lines().any(is_manifest) => {
            "this is not a manifest in YAML or JSON".to_owned()
        }
        _ => problem.to_string(),
    }
}
