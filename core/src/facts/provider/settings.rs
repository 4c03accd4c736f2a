//! What the users of a provider can set, and which defaults are its own.

use std::time::Duration;

/// What the users of a provider can set, and which defaults are its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderSettings {
    /// Whether its users run Karpenter themselves: they can set its flags and feature gates, and restart it.
    pub runs_karpenter: bool,
    /// The feature gates that are on although nobody sets them.
    pub gates_on: &'static [&'static str],
    /// `expireAfter` of a pool that has none, if it is not the one of Karpenter's definition.
    pub expire_after: Option<Duration>,
    /// `terminationGracePeriod` of a pool that has none; `None` if a drain then has no end.
    pub termination_grace_period: Option<Duration>,
    /// The longest that `expireAfter` and `terminationGracePeriod` may be together.
    pub longest_life: Option<Duration>,
    /// The fewest CPUs of a machine that it launches, if that is more than one.
    pub fewest_cpus: Option<i64>,
    /// The sizes of machines that it does not launch, such as `nano`.
    pub sizes_not_launched: &'static [&'static str],
}

impl ProviderSettings {
    /// Those of Karpenter itself.
    pub const KARPENTER: Self = Self {
        runs_karpenter: true,
        gates_on: &[],
        expire_after: None,
        termination_grace_period: None,
        longest_life: None,
        fewest_cpus: None,
        sizes_not_launched: &[],
    };

    /// Whether a feature gate is on although nobody sets it.
    pub(crate) fn has_gate_on(&self, gate: &str) -> bool {
        self.gates_on.contains(&gate)
    }
}
