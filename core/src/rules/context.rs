//! What a verdict rests on beside the object itself.

use crate::karpenter::{Karpenter, KarpenterVersion, LabelSets};
use crate::nodelimit::ClaimCounts;
use crate::policy::Policy;

/// What a verdict rests on beside the object itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    /// The NodeClaims of the pool, where somebody counts them.
    pub claims: Option<ClaimCounts>,
    /// What the organisation wants.
    pub policy: &'a Policy,
    /// Which Karpenter will read the object.
    pub karpenter: &'a Karpenter,
    /// Its release.
    pub release: KarpenterVersion,
    /// Which labels Karpenter and its provider know.
    pub labels: &'a LabelSets,
}
