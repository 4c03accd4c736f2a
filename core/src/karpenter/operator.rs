//! The operators of a requirement.

/// How a requirement relates a label to its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// One of the values.
    In,
    /// None of the values.
    NotIn,
    /// Any value.
    Exists,
    /// No such label.
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

impl Operator {
    /// The operator of exactly this name.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "In" => Self::In,
            "NotIn" => Self::NotIn,
            "Exists" => Self::Exists,
            "DoesNotExist" => Self::DoesNotExist,
            "Gt" => Self::Gt,
            "Lt" => Self::Lt,
            "Gte" => Self::Gte,
            "Lte" => Self::Lte,
            _ => return None,
        })
    }

    /// The name as written in an object.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::In => "In",
            Self::NotIn => "NotIn",
            Self::Exists => "Exists",
            Self::DoesNotExist => "DoesNotExist",
            Self::Gt => "Gt",
            Self::Lt => "Lt",
            Self::Gte => "Gte",
            Self::Lte => "Lte",
        }
    }

    /// Whether it compares numbers.
    pub const fn is_numeric(self) -> bool {
        matches!(self, Self::Gt | Self::Lt | Self::Gte | Self::Lte)
    }

    /// Whether a node must carry the label to satisfy it.
    pub const fn demands_label(self) -> bool {
        !matches!(self, Self::NotIn | Self::DoesNotExist)
    }
}
