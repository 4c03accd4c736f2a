//! Whether a node limit may ever be exceeded.

/// The annotation that holds the mode on a NodePool whose CRD lacks `spec.disruption.nodeLimitMode`.
pub const NODE_LIMIT_MODE_ANNOTATION: &str = "poolgate.dev/node-limit-mode";

/// The meaning of `spec.limits.nodes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeLimitMode {
    /// Never more NodeClaims than the limit, terminating ones included.
    Hard,
    /// Provisioning is limited; replacements may exceed the limit for a while.
    Soft,
}

impl NodeLimitMode {
    /// The values of the enumeration, in the order in which messages name them.
    pub const VALUES: &'static [&'static str] = &["Hard", "Soft"];

    /// The mode named by exactly this text.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Hard, Self::Soft]
            .into_iter()
            .find(|mode| mode.as_str() == text)
    }

    /// The mode as it is in the object.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hard => "Hard",
            Self::Soft => "Soft",
        }
    }
}
