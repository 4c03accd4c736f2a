//! The level of each rule.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::kinds::word;
use super::record::{Found, Kind};
use crate::diagnostic::{FieldPath, Origin, RuleId, Severity};

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
    pub const VALUES: &'static [&'static str] = &["error", "warning", "note", "off"];

    /// The level named by exactly this text.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "error" => Some(Self::Severity(Severity::Error)),
            "warning" => Some(Self::Severity(Severity::Warning)),
            "note" => Some(Self::Severity(Severity::Note)),
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

    /// Each rule for which the policy sets a level.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (RuleId, Level)> {
        self.0.iter().map(|(rule, level)| (*rule, *level))
    }

    /// The level of a rule's findings of this origin; `None` if the rule's own severity applies. What Karpenter
    /// rejects anyway is always shown: otherwise the user would get the rejection without its explanation.
    pub fn get(&self, rule: RuleId, origin: Origin) -> Option<Level> {
        let level = self.0.get(&rule).copied()?;
        let is_quiet = matches!(level, Level::Off | Level::Severity(Severity::Note));
        Some(if is_quiet && origin.is_karpenters() {
            Level::Severity(Severity::Warning)
        } else {
            level
        })
    }
}

/// A level in a file. YAML reads the word `off` as false.
#[derive(Debug)]
pub struct LevelOfRule;

impl Kind for LevelOfRule {
    type Value = Level;

    fn read(&self, value: &Value, path: &FieldPath, found: &mut Found) -> Option<Level> {
        match value {
            Value::Bool(false) => Some(Level::Off),
            Value::String(_) => word(Level::VALUES, Level::parse).read(value, path, found),
            _ => {
                found.mistyped(path, value, "error, warning, note or off", None);
                None
            }
        }
    }

    fn schema(&self) -> Value {
        let mut levels: Vec<Value> = Level::VALUES.iter().copied().map(Value::from).collect();
        levels.push(false.into());
        json!({"enum": levels})
    }
}
