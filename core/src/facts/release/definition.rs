//! What is recorded of a NodePool definition. The table of all is generated.

use std::fmt;

use super::KarpenterVersion;

/// A NodePool definition that Karpenter published.
pub(crate) struct Definition {
    /// The releases that ship it.
    pub(crate) releases: ReleaseRange,
    /// The versions of the API that it serves.
    pub(crate) served: &'static [&'static str],
    /// The version that is stored.
    pub(crate) stored: &'static str,
    /// What its `v1` says, and the definition before does not.
    pub(crate) begins: &'static [Said],
    /// What the definition before says of `v1`, and it does not.
    pub(crate) ends: &'static [Said],
}

/// What a definition says of the field at a path: a keyword of its schema with a value, one word of an enumeration, or the
/// message of a rule.
pub(crate) struct Said {
    /// The path, such as `spec.disruption.budgets[].nodes`.
    pub(crate) path: &'static str,
    /// The keyword, such as `enum`.
    pub(crate) keyword: &'static str,
    /// The value: a string as it is, anything else as JSON.
    pub(crate) value: &'static str,
}

pub(super) const fn said(path: &'static str, keyword: &'static str, value: &'static str) -> Said {
    Said { path, keyword, value }
}

/// The releases that ship a definition like the one that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReleaseRange {
    /// The first release that ships it.
    pub oldest: KarpenterVersion,
    /// The last that poolgate knows of; patch releases of the same minor release may follow. The cluster is checked
    /// against it: what it has beyond `oldest` does not show in a definition, and an unjustified warning is worse
    /// than a missing one.
    pub newest: KarpenterVersion,
}

impl fmt::Display for ReleaseRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.oldest == self.newest {
            write!(f, "{}", self.oldest)
        } else {
            write!(f, "{} to {}", self.oldest, self.newest)
        }
    }
}
