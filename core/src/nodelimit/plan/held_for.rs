//! Why poolgate holds a node.

/// Why poolgate holds a node: the value of the annotation [`crate::api::HELD_ANNOTATION`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeldFor {
    /// The pool has no place for its replacement: `karpenter.sh/do-not-disrupt`.
    pub node_limit: bool,
    /// Its repair would need a place that is not there: `karpenter.sh/do-not-repair`.
    pub repair: bool,
}

impl HeldFor {
    /// For the node limit only.
    pub(crate) const NODE_LIMIT: Self = Self {
        node_limit: true,
        repair: false,
    };

    /// Parses the annotation. Anything unknown is for the node limit.
    pub fn parse(text: &str) -> Self {
        match text {
            "repair" => Self {
                node_limit: false,
                repair: true,
            },
            "node-limit,repair" => Self {
                node_limit: true,
                repair: true,
            },
            _ => Self::NODE_LIMIT,
        }
    }

    /// The text of the annotation.
    pub const fn as_str(self) -> &'static str {
        match (self.node_limit, self.repair) {
            (true, true) => "node-limit,repair",
            (false, true) => "repair",
            _ => "node-limit",
        }
    }

    /// Whether there is a reason at all.
    pub const fn any(self) -> bool {
        self.node_limit || self.repair
    }
}
