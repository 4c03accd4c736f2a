//! How much each rule weighs.

use std::collections::HashMap;

use crate::diagnostic::{RuleId, Severity};
use crate::rule::{Origin, Rule};

/// What the policy says of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// Its findings weigh this much.
    Severity(Severity),
    /// It is not applied.
    Off,
}

impl Level {
    /// The values, as they stand in a policy file.
    pub const VALUES: &'static [&'static str] = &["error", "warning", "info", "off"];

    /// The level named by exactly this text.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "error" => Some(Self::Severity(Severity::Error)),
            "warning" => Some(Self::Severity(Severity::Warning)),
            "info" => Some(Self::Severity(Severity::Info)),
            "off" => Some(Self::Off),
            _ => None,
        }
    }
}

/// The least that findings of a rule can be made to weigh. What Karpenter refuses all the same is never silent:
/// the user would meet the refusal without its explanation.
pub(super) fn least(rule: &Rule) -> Level {
    if matches!(rule.origin, Origin::Silent | Origin::Poolgate) {
        Level::Off
    } else {
        Level::Severity(Severity::Warning)
    }
}

/// The weight of those rules for which the policy says one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Levels(HashMap<RuleId, Level>);

impl Levels {
    /// Gives a rule a weight, or the least that it can have. Answers with what it got.
    pub fn set(&mut self, rule: &Rule, level: Level) -> Level {
        let level = match (least(rule), level) {
            (Level::Severity(least), Level::Off) => Level::Severity(least),
            (Level::Severity(least), Level::Severity(wanted)) => Level::Severity(least.max(wanted)),
            (Level::Off, level) => level,
        };
        self.0.insert(rule.id, level);
        level
    }

    /// What the policy says of a rule; nothing where the rule's own severity holds.
    pub fn of(&self, rule: RuleId) -> Option<Level> {
        self.0.get(&rule).copied()
    }
}
