//! The operators of a requirement.

use crate::value::words;

/// How a requirement relates a label to its values.
// karpenter: pkg/apis/v1/nodeclaim_validation.go SupportedNodeSelectorOps
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// One of the values.
    In,
    /// None of the values.
    NotIn,
    /// The label must be there, with any value.
    Exists,
    /// The label must not be there.
    DoesNotExist,
    /// An integer greater than the value.
    Gt,
    /// An integer less than the value.
    Lt,
    /// An integer greater than or equal to the value; since Karpenter 1.9.
    Gte,
    /// An integer less than or equal to the value; since Karpenter 1.9.
    Lte,
}

words!(Operator {
    In = "In",
    NotIn = "NotIn",
    Exists = "Exists",
    DoesNotExist = "DoesNotExist",
    Gt = "Gt",
    Lt = "Lt",
    Gte = "Gte",
    Lte = "Lte",
});

impl Operator {
    /// Whether it compares numbers.
    pub(crate) const fn is_numeric(self) -> bool {
        matches!(self, Self::Gt | Self::Lt | Self::Gte | Self::Lte)
    }

    /// Whether a node must carry the label to satisfy it.
    pub(crate) const fn demands_label(self) -> bool {
        !matches!(self, Self::NotIn | Self::DoesNotExist)
    }
}
