//! How many NodeClaims a pool has, and how many of them a limit counts.

use crate::karpenter::NodeLimitMode;

/// The NodeClaims of a pool, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClaimCounts {
    /// All NodeClaims that exist, whatever happens to them.
    pub existing: usize,
    /// Of those, without deletion timestamp.
    pub undeleted: usize,
    /// Of those, not being disrupted either.
    pub staying: usize,
}

impl ClaimCounts {
    /// How many count against a limit of this mode.
    pub const fn counted(self, mode: NodeLimitMode) -> usize {
        match mode {
            NodeLimitMode::Hard => self.existing,
            NodeLimitMode::Soft => self.staying,
        }
    }

    /// How many may be counted as too many: those that are going already must not cause more victims, however
    /// slowly they drain.
    pub const fn standing(self, mode: NodeLimitMode) -> usize {
        match mode {
            NodeLimitMode::Hard => self.undeleted,
            NodeLimitMode::Soft => self.staying,
        }
    }

    /// How many of those are above a limit.
    pub const fn excess(self, limit: u32, mode: NodeLimitMode) -> usize {
        self.standing(mode).saturating_sub(limit as usize)
    }
}
