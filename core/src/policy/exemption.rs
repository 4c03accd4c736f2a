//! Pools to which some rules do not apply in full.

use std::collections::{BTreeMap, HashSet};

use super::Glob;
use crate::diagnostic::{Origin, RuleId, Severity};
use crate::json::{Json, Object};

/// Exempts pools from some rules. A finding of such a rule then has severity `info`, so that it can still be found
/// offline; if Karpenter itself rejects the object, it stays a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exemption {
    /// Patterns for names of NodePools; one must match. Without patterns every name matches.
    pub pools: Vec<Glob>,
    /// Labels of the NodePool itself, all of which it must have.
    pub labels: BTreeMap<String, String>,
    /// Why, for readers of the finding.
    pub reason: Option<String>,
    /// The rules that do not apply to these NodePools.
    pub rules: HashSet<RuleId>,
}

impl Exemption {
    /// Whether it covers a NodePool of this name with these labels.
    pub fn covers(&self, name: Option<&str>, labels: Option<&Object<'_>>) -> bool {
        let is_named = || name.is_some_and(|name| self.pools.iter().any(|pattern| pattern.matches(name)));
        let has = |key: &String, value: &String| {
            let found = labels.and_then(|labels| labels.get(key)).and_then(Json::as_str);
            found == Some(value)
        };
        (self.pools.is_empty() || is_named()) && self.labels.iter().all(|(key, value)| has(key, value))
    }

    /// The severity of a rule's findings of this origin for pools that it covers; `None` if it does not include the
    /// rule.
    pub fn severity(&self, rule: RuleId, origin: Origin) -> Option<Severity> {
        self.rules.contains(&rule).then_some(if origin.is_karpenters() {
            Severity::Warning
        } else {
            Severity::Info
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::json::Json;

    fn covers(pools: &[&str], labels: &[(&str, &str)], name: Option<&str>) -> bool {
        let exemption = Exemption {
            pools: pools.iter().copied().map(Glob::new).collect(),
            labels: labels
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            reason: None,
            rules: HashSet::new(),
        };
        let present = json!({"team": "data", "tier": 5});
        exemption.covers(name, Json::from(&present).as_object())
    }

    #[test]
    fn a_pool_is_covered_by_any_name_and_all_labels() {
        assert!(covers(&["a", "gpu-*"], &[], Some("gpu-1")));
        assert!(!covers(&["a", "gpu-*"], &[], Some("web")));
        assert!(covers(&[], &[("team", "data")], Some("web")));
        assert!(covers(&[], &[("team", "data")], None));
        assert!(!covers(&[], &[("team", "web")], Some("web")));
        assert!(!covers(&[], &[("team", "data"), ("tier", "5")], Some("web")));
        assert!(!covers(&["gpu-*"], &[("team", "data")], Some("web")));
    }

    #[test]
    fn a_pool_without_a_name_is_covered_by_none() {
        assert!(!covers(&["*"], &[], None));
    }
}
