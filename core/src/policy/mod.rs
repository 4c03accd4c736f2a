//! The organisation's policy: the level of each rule, defaults for fields that a NodePool leaves out, bounds for every pool,
//! and exempt pools.
//!
//! Each type defines how it is read from a policy file, and is checked as it is read. `policy_file` reads the fields about
//! rules: here they are only names.

mod acknowledgement;
mod bounds;
mod cluster;
mod default_values;
mod exemption;
mod glob;
pub(crate) mod kinds;
mod levels;
pub(crate) mod record;
pub(crate) mod texts;

pub use acknowledgement::{AcknowledgedPools, Acknowledgement};
pub use bounds::{
    Bounds, BudgetBounds, DurationBounds, FreezeWindow, LimitBounds, NodeClassPattern, TemplateBounds,
};
pub use cluster::{DeclaredCluster, FeatureGate, GateState, MinValuesPolicy, WebhookUse};
pub use default_values::DefaultValues;
pub use exemption::Exemption;
pub use glob::{Glob, names_rule};
pub(crate) use levels::LevelOfRule;
pub use levels::{Level, Levels};
pub use texts::Written;

use std::time::Duration;

use crate::api::{AtLimit, OverLimit};
use crate::facts::LabelSets;
use crate::value::words;

/// How long the pods of a broken node may take to leave it, by default, before it is terminated anyway.
pub(crate) const REPAIR_GRACE_PERIOD: Duration = Duration::from_mins(10);

/// The organisation's policy. [`Policy::default`] applies without a policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Whether mistakes deny an object at all.
    pub enforcement: Enforcement,
    /// The levels of single rules.
    pub levels: Levels,
    /// The values for fields that the user left out.
    pub defaults: DefaultValues,
    /// The bounds for every pool, in addition to Karpenter's own rules.
    pub bounds: Bounds,
    /// Pools to which some rules do not apply in full.
    pub exemptions: Vec<Exemption>,
    /// The declared facts about the cluster.
    pub cluster: DeclaredCluster,
    /// Labels that a provider or the organisation adds.
    pub labels: LabelSets,
    /// The conditions for a change that replaces nodes.
    pub drift: Acknowledgement,
    /// The conditions for the deletion of a pool with nodes.
    pub deletion: Acknowledgement,
    /// The handling of nodes above a limit.
    pub over_limit: OverLimit,
    /// Which nodes of a pool at its limit are terminated first and then replaced.
    pub at_limit: AtLimit,
    /// How long the pods of a broken node may take to leave it before it is terminated anyway.
    pub repair_grace_period: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            enforcement: Enforcement::default(),
            levels: Levels::default(),
            defaults: DefaultValues::default(),
            bounds: Bounds::default(),
            exemptions: Vec::new(),
            cluster: DeclaredCluster::default(),
            labels: LabelSets::default(),
            drift: Acknowledgement::default(),
            deletion: Acknowledgement::default(),
            over_limit: OverLimit::default(),
            at_limit: AtLimit::default(),
            repair_grace_period: REPAIR_GRACE_PERIOD,
        }
    }
}

/// Whether mistakes deny an object, in the words of a policy file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Enforcement {
    /// An error denies the object.
    #[default]
    Enforce,
    /// Nothing is denied: a warning instead. For a first week on running clusters.
    Warn,
}

words!(Enforcement { Enforce = "enforce", Warn = "warn" });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_file_are_read_back() {
        for word in Enforcement::VALUES {
            assert_eq!(Enforcement::parse(word).map(Enforcement::as_str), Some(*word));
        }
        assert_eq!(Enforcement::parse("Warn"), None);
    }
}
