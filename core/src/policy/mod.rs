//! What the organisation wants: the level of each rule, what is written if a NodePool leaves a field out, the
//! bounds that every pool must keep, and which pools are exempt.
//!
//! Plain data, checked when it is created. Knows nothing of files, and only the names of rules: the severity of a
//! finding follows from its rule's name and its origin.

mod bounds;
mod default_values;
mod exemption;
mod glob;
mod levels;

pub use bounds::{
    Bounds, BudgetBounds, DurationBounds, FreezeWindow, LimitBounds, NodeClassPattern, TemplateBounds,
    Written,
};
pub use default_values::{BudgetWindow, DefaultBudget, DefaultValues};
pub use exemption::Exemption;
pub use glob::Glob;
pub use levels::{Level, Levels};

use crate::karpenter::{LabelSets, NodePool};

/// The annotation by which a NodePool chooses what happens to its nodes above the limit: `Terminate` or `Report`.
pub const OVER_LIMIT_ANNOTATION: &str = "poolgate.dev/over-limit";

/// The organisation's policy. [`Policy::default`] applies without a policy file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Whether mistakes deny an object at all.
    pub enforcement: Enforcement,
    /// The levels of single rules.
    pub levels: Levels,
    /// What is written into fields that the user left out.
    pub defaults: DefaultValues,
    /// The bounds for every pool, in addition to Karpenter's own rules.
    pub bounds: Bounds,
    /// Pools to which some rules do not apply in full.
    pub exemptions: Vec<Exemption>,
    /// Labels that a provider or the organisation adds.
    pub labels: LabelSets,
    /// What happens to nodes above a limit.
    pub over_limit: OverLimit,
}

/// Whether mistakes deny an object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Enforcement {
    /// An error denies the object.
    #[default]
    Enforce,
    /// Nothing is denied: a warning instead. For a first week on running clusters.
    Warn,
}

impl Enforcement {
    /// The values, as they are in a policy file.
    pub const VALUES: &'static [&'static str] = &["enforce", "warn"];

    /// The value named by exactly this text.
    pub fn parse(text: &str) -> Option<Self> {
        let both = [Self::Enforce, Self::Warn];
        both.into_iter().find(|enforcement| enforcement.as_str() == text)
    }

    /// The word in a policy file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Warn => "warn",
        }
    }
}

/// What happens to nodes above `limits.nodes`, after the limit was lowered or exceeded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OverLimit {
    /// They are reported, and stay.
    #[default]
    Report,
    /// They are terminated, the cheapest first.
    Terminate,
}

impl OverLimit {
    /// The values, as they are in a policy file.
    pub const VALUES: &'static [&'static str] = &["report", "terminate"];

    /// The values of the annotation, in the order in which messages name them.
    pub const ANNOTATED: &'static [&'static str] = &["Terminate", "Report"];

    /// The value of a pool's annotation, ignoring case; `None` if it is missing or says something else.
    pub fn annotated(pool: &NodePool<'_>) -> Option<Self> {
        let word = pool.annotations.present()?.get(OVER_LIMIT_ANNOTATION)?.as_str()?;
        Self::parse(&word.to_ascii_lowercase())
    }

    /// The value named by exactly this text.
    pub fn parse(text: &str) -> Option<Self> {
        let both = [Self::Report, Self::Terminate];
        both.into_iter().find(|over_limit| over_limit.as_str() == text)
    }

    /// The word in a policy file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Terminate => "terminate",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_file_are_read_back() {
        for word in Enforcement::VALUES {
            assert_eq!(Enforcement::parse(word).map(Enforcement::as_str), Some(*word));
        }
        for word in OverLimit::VALUES {
            assert_eq!(OverLimit::parse(word).map(OverLimit::as_str), Some(*word));
        }
        assert_eq!(Enforcement::parse("Warn"), None);
    }
}
