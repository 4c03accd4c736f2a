//! Whether a node limit may ever be exceeded.

use serde::{Deserialize, Serialize};

use crate::value::words;

/// The annotation that holds the mode on a NodePool whose CRD lacks `spec.disruption.nodeLimitMode`.
pub const NODE_LIMIT_MODE_ANNOTATION: &str = "poolgate.dev/node-limit-mode";

/// The meaning of `spec.limits.nodes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NodeLimitMode {
    /// Never more NodeClaims than the limit, terminating ones included.
    Hard,
    /// Provisioning is limited; replacements may exceed the limit for a while.
    Soft,
}

words!(NodeLimitMode { Hard = "Hard", Soft = "Soft" });

impl NodeLimitMode {
    /// The mode of a NodePool that says none. No policy decides it: replicas may have different ones for minutes.
    pub(crate) const UNWRITTEN: Self = Self::Hard;

    /// The mode by which claims above the limit of such a NodePool are counted: Soft may have been pruned from it, and no
    /// node may be lost because of that.
    pub(crate) const UNWRITTEN_ABOVE_LIMIT: Self = Self::Soft;
}
