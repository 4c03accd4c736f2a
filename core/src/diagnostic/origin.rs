//! Which program would notice the mistake without poolgate.

/// Which program would notice the mistake without poolgate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// The API server rejects it, mostly by the schema or the CEL rules of Karpenter's CRD, with less explanation.
    Schema,
    /// Karpenter itself, once the object is stored: it marks the NodePool not ready and ignores it.
    // karpenter: pkg/apis/v1/nodepool_validation.go NodePool.RuntimeValidate
    // karpenter: pkg/controllers/nodepool/validation/controller.go Controller.Reconcile
    Runtime,
    /// No program at apply time: Karpenter accepts it and fails later.
    Silent,
    /// No other program: it is about a field that poolgate itself defines, a bound of the organisation's policy, or
    /// a text longer than poolgate reads.
    Poolgate,
}

impl Origin {
    /// The word for it on the page of a rule.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::Runtime => "runtime",
            Self::Silent => "silent",
            Self::Poolgate => "poolgate",
        }
    }

    /// Whether the object is rejected or ignored even without poolgate.
    pub const fn is_karpenters(self) -> bool {
        matches!(self, Self::Schema | Self::Runtime)
    }
}
