//! Who is behind a finding.

/// Who would notice the mistake if poolgate did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// The API server rejects it, mostly by the schema or the CEL rules of Karpenter's CRD, with less explanation.
    Schema,
    /// Karpenter itself, once the object is stored: it marks the NodePool not ready and passes it over.
    Runtime,
    /// Nobody at apply time: Karpenter takes it and suffers later.
    Silent,
    /// Nobody: it concerns a field that poolgate itself defines, a bound of the organisation's policy, or a text
    /// longer than poolgate reads.
    Poolgate,
}

impl Origin {
    /// Whether the object is rejected or set aside whatever poolgate says of it.
    pub const fn is_karpenters(self) -> bool {
        matches!(self, Self::Schema | Self::Runtime)
    }
}
