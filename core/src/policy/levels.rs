//! How much each rule weighs.

use std::collections::HashMap;

use crate::diagnostic::{Origin, RuleId, Severity};

/// What the policy says of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// Its findings weigh this much.
    Severity(Severity),
    /// It is not applied.
    Off,
}

impl Level {
    /// The values, as they are in a policy file.
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

/// The weight of those rules for which the policy says one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Levels(HashMap<RuleId, Level>);

impl Levels {
    /// Gives a rule a weight.
    pub fn set(&mut self, rule: RuleId, level: Level) {
        self.0.insert(rule, level);
    }

    /// What the policy says of a rule's findings of this origin; nothing where the rule's own severity holds. What
    /// Karpenter rejects all the same is never silent: the user would meet the denial without its explanation.
    pub fn of(&self, rule: RuleId, origin: Origin) -> Option<Level> {
        let level = self.0.get(&rule).copied()?;
        let is_quiet = matches!(level, Level::Off | Level::Severity(Severity::Info));
        Some(if is_quiet && origin.is_karpenters() {
            Level::Severity(Severity::Warning)
        } else {
            level
        })
    }
}
