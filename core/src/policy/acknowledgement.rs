//! Which NodePools need an annotation before their nodes go.

use super::Glob;
use super::kinds::List;
use super::record::{object, record};
use super::texts::POOL_PATTERN;

record! {
    /// The pools for which an annotation must acknowledge a change.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct Acknowledgement {
        acknowledge: AcknowledgedPools = or_default "acknowledge", object(),
            "The NodePools that need the annotation.";
    }
}

record! {
    /// The NodePools that need an acknowledgement.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct AcknowledgedPools {
        pools: Vec<Glob> = or_default "pools", List(1, POOL_PATTERN),
            "Names of NodePools, one of which must match. * matches any characters.";
    }
}

impl Acknowledgement {
    /// Whether this NodePool needs one.
    pub fn must_be_acknowledged(&self, pool: &str) -> bool {
        self.acknowledge.pools.iter().any(|pattern| pattern.matches(pool))
    }
}
