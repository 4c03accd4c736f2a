//! Pools to which some rules do not apply in full.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::Glob;
use crate::diagnostic::{Origin, RuleId, Severity};
use crate::json::{Json, Object};

/// How many days before its end an exemption is reported.
const NEAR_DAYS: i32 = 14;

/// Exempts pools from some rules. A finding of such a rule then has severity `note`, so that it can still be found
/// offline; if Karpenter itself rejects the object, it stays a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exemption {
    /// Patterns for names of NodePools; one must match. Without patterns every name matches.
    pub pools: Vec<Glob>,
    /// Labels of the NodePool itself, all of which it must have.
    pub labels: BTreeMap<String, String>,
    /// Why, for readers of the finding.
    pub reason: Option<String>,
    /// The last day on which it applies, in UTC; `None` if it has no end.
    pub until: Option<Date>,
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

    /// When it ends: after its last day. `None` if it has no end.
    pub fn ends(&self) -> Option<Timestamp> {
        let after = self.until?.tomorrow().ok()?;
        Some(after.to_zoned(TimeZone::UTC).ok()?.timestamp())
    }

    /// When its last day ends, seen from today in UTC, if that is near.
    pub fn near_end(&self, at: Timestamp) -> Option<String> {
        let today = at.to_zoned(TimeZone::UTC).date();
        match self.until?.since(today).ok()?.get_days() {
            0 => Some("the end of today".to_owned()),
            1 => Some("the end of tomorrow".to_owned()),
            days => (2..=NEAR_DAYS).contains(&days).then(|| format!("in {days} days")),
        }
    }

    /// The severity of a rule's findings of this origin for pools that it covers; `None` if it does not include the
    /// rule.
    pub fn severity(&self, rule: RuleId, origin: Origin) -> Option<Severity> {
        self.rules.contains(&rule).then_some(if origin.is_karpenters() {
            Severity::Warning
        } else {
            Severity::Note
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
            until: None,
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

    #[test]
    fn an_exemption_lasts_through_its_last_day_in_utc_and_says_when_that_is_near() {
        let exemption = Exemption {
            pools: Vec::new(),
            labels: BTreeMap::new(),
            reason: None,
            until: Some("2027-06-30".parse().expect("a date")),
            rules: HashSet::new(),
        };
        let at = |text: &str| text.parse::<Timestamp>().expect("an instant");
        assert_eq!(exemption.ends(), Some(at("2027-07-01T00:00:00Z")));
        for (now, end) in [
            ("2027-06-15T23:59:59Z", None),
            ("2027-06-16T00:00:00Z", Some("in 14 days")),
            ("2027-06-29T00:00:00Z", Some("the end of tomorrow")),
            ("2027-06-29T23:59:59Z", Some("the end of tomorrow")),
            ("2027-06-30T00:00:00Z", Some("the end of today")),
            ("2027-06-30T23:59:59Z", Some("the end of today")),
            ("2027-07-01T00:00:00Z", None),
            ("2027-05-30T00:00:00Z", None),
        ] {
            assert_eq!(exemption.near_end(at(now)).as_deref(), end, "{now}");
        }
    }
}
