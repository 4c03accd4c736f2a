//! The level of each rule.

use std::collections::HashMap;

use crate::diagnostic::{Origin, RuleId, Severity};

/// A rule's level in the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// Its findings have this severity.
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

/// The levels of those rules for which the policy sets one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Levels(HashMap<RuleId, Level>);

impl Levels {
    /// Sets a rule's level.
    pub fn set(&mut self, rule: RuleId, level: Level) {
        self.0.insert(rule, level);
    }

    /// The level of a rule's findings of this origin; `None` if the rule's own severity applies. What Karpenter
    /// rejects anyway is always shown: otherwise the user would get the rejection without its explanation.
    pub fn get(&self, rule: RuleId, origin: Origin) -> Option<Level> {
        let level = self.0.get(&rule).copied()?;
        let is_quiet = matches!(level, Level::Off | Level::Severity(Severity::Info));
        Some(if is_quiet && origin.is_karpenters() {
            Level::Severity(Severity::Warning)
        } else {
            level
        })
    }
}
