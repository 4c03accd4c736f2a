//! Which changes of a NodePool's template must be acknowledged.

use super::Glob;
use super::kinds::List;
use super::record::{object, record};
use super::texts::POOL_PATTERN;

record! {
    /// The conditions for a change that makes Karpenter replace nodes.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct DriftPolicy {
        acknowledge: AcknowledgedPools = or_default "acknowledge", object(),
            "Changes that replace nodes of these NodePools need the annotation poolgate.dev/acknowledge-drift.";
    }
}

record! {
    /// The NodePools whose changes need an acknowledgement.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct AcknowledgedPools {
        pools: Vec<Glob> = or_default "pools", List(1, POOL_PATTERN),
            "Names of NodePools, one of which must match. * matches any characters.";
    }
}

impl DriftPolicy {
    /// Whether a change that replaces nodes of this NodePool must be acknowledged.
    pub fn must_be_acknowledged(&self, pool: &str) -> bool {
        self.acknowledge.pools.iter().any(|pattern| pattern.matches(pool))
    }
}
