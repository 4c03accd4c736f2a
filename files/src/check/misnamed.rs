//! Exemptions that name no pool of the run, although a pool with nearly that name has the findings which they are about.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use poolgate_core::diagnostic::{Report, Severity, nearest_within};
use poolgate_core::policy::{Exemption, Glob};
use poolgate_core::review::Subject;

use super::subjects::Checked;
use crate::input::Projects;
use crate::terminal;

/// Fewest letters of a word in which a typo is recognised: names of one family differ in short words, as in `gpu-a` and
/// `gpu-b`.
const LEAST: usize = 4;

/// Most typos in one word.
const SLIPS: usize = 2;

/// The NodePools that were checked against the policy of a file, by name, and the rules with errors and warnings in each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckedPools(BTreeMap<Option<String>, BTreeMap<String, BTreeSet<&'static str>>>);

impl CheckedPools {
    /// Adds an object that was checked against the policy of this file.
    pub fn add(&mut self, policy: Option<&str>, checked: &Checked<'_>, report: &Report) {
        let (Subject::NodePool(_), Some(name)) = (checked.subject, checked.object().name) else {
            return;
        };
        let findings = report.diagnostics().iter();
        let rules = findings.filter(|finding| finding.severity > Severity::Note);
        let pools = self.0.entry(policy.map(str::to_owned)).or_default();
        let found = pools.entry(name).or_default();
        found.extend(rules.map(|finding| finding.rule.as_str()));
    }

    /// Adds those of another file.
    pub fn extend(&mut self, other: &Self) {
        for (policy, pools) in &other.0 {
            let all = self.0.entry(policy.clone()).or_default();
            for (name, rules) in pools {
                all.entry(name.clone()).or_default().extend(rules);
            }
        }
    }

    /// A line for each name in an exemption that is probably mistyped.
    pub fn misnamed(&self, projects: &Projects, at: Timestamp) -> Vec<String> {
        let mut lines = Vec::new();
        for found in projects.all() {
            let Some(pools) = self.0.get(&found.file) else {
                continue;
            };
            let file = terminal::clean(found.file.as_deref().unwrap_or_default());
            for (number, exemption) in found.policy.exemptions.iter().enumerate() {
                if exemption.ends().is_some_and(|end| end <= at) {
                    continue;
                }
                lines.extend(misnamed(exemption, pools).map(|(written, meant)| {
                    format!(
                        "{file}: exemptions[{number}] names the pool {written}, but no checked pool has this name. Did you \
                         mean {}?",
                        terminal::name(meant)
                    )
                }));
            }
        }
        lines
    }
}

/// The names in an exemption that no pool has, each with the only pool that may be meant.
fn misnamed<'a>(
    exemption: &'a Exemption,
    pools: &'a BTreeMap<String, BTreeSet<&'static str>>,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let has_its_findings =
        |rules: &BTreeSet<&str>| exemption.rules.iter().any(|rule| rules.contains(rule.as_str()));
    let is_named = |name: &str| exemption.pools.iter().any(|pattern| pattern.matches(name));
    let written = exemption.pools.iter().map(Glob::as_str);
    let unknown = written.filter(|written| !written.contains('*') && !pools.contains_key(*written));
    unknown.filter_map(move |written| {
        let mut meant = pools
            .iter()
            .filter(|(name, rules)| !is_named(name) && has_its_findings(rules) && resembles(written, name));
        match (meant.next(), meant.next()) {
            (Some((name, _)), None) => Some((written, name.as_str())),
            _ => None,
        }
    })
}

/// Whether two names differ in a typo in one word.
fn resembles(written: &str, name: &str) -> bool {
    let (mut ours, mut theirs) = (written.split(['-', '.']), name.split(['-', '.']));
    let mut differing = 0;
    loop {
        match (ours.next(), theirs.next()) {
            (None, None) => return differing == 1,
            (Some(one), Some(other)) if one == other => {}
            (Some(one), Some(other)) if is_typo(one, other) => differing += 1,
            _ => return false,
        }
    }
}

/// Whether a word is probably a typo of another. Words with digits are numbers of a family.
fn is_typo(one: &str, other: &str) -> bool {
    let is_word = |word: &str| word.len() >= LEAST && !word.bytes().any(|byte| byte.is_ascii_digit());
    is_word(one) && is_word(other) && nearest_within(SLIPS, one, [other]).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_in_one_word_is_recognised_and_names_of_one_family_are_different_ones() {
        for (written, name) in [
            ("frozn", "frozen"),
            ("gpu-larg-spot", "gpu-large-spot"),
            ("webb", "weeb"),
        ] {
            assert!(resembles(written, name), "{written} {name}");
        }
        for (written, name) in [
            ("gpu-a", "gpu-b"),
            ("web-1", "web-2"),
            ("web1", "web2"),
            ("team1000", "team1001"),
            ("web", "web-gpu"),
            ("east", "west"),
            ("batch", "general"),
            ("frozen", "frozen"),
        ] {
            assert!(!resembles(written, name), "{written} {name}");
        }
    }
}
