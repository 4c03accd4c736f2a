//! The numbers of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::AddAssign;

use poolgate_core::diagnostic::Severity;
use poolgate_core::facts::{KarpenterVersion, TargetKarpenter};

use super::finding::Finding;
use crate::terminal::ASSUMED_RELEASE;
use crate::text_rules;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Count {
    /// NodePools and NodeClaims that were checked.
    Objects,
    /// Those of them that are NodeClaims.
    Claims,
    /// Objects of the other kinds that Karpenter reads, which were checked.
    OtherKinds,
    /// Objects of other kinds in files with NodePools.
    Others,
    /// NodePools and NodeClaims inside objects of other kinds, which are not checked.
    Inside,
    /// Patches of Karpenter's objects that a kustomization holds itself, which are not checked.
    InlinePatches,
    /// Checked objects that are patches.
    Parts,
    /// NodePools that only the newest release accepts as they are, which is assumed.
    Incomplete,
    /// Documents that SOPS has encrypted.
    Encrypted,
    Errors,
    Warnings,
    Notes,
    /// Warnings for which Karpenter rejects the object.
    Lowered,
    /// Findings that are counted and not shown.
    Omitted,
    /// Findings that comments ignore.
    Ignored,
    /// Places that were fixed.
    Fixed,
    /// Places that would be fixed.
    Fixable,
    /// The fixed and fixable places whose change makes Karpenter replace the nodes of a pool.
    Replacing,
    /// Helm template folders that were skipped.
    TemplateFolders,
    /// Symbolic links to directories, which were not followed.
    LinkedFolders,
    /// Files of other languages below directories, which were left out.
    Foreign,
    /// Files and directories that the user excludes.
    Excluded,
    /// Files below directories that are no text and do not name Karpenter.
    NotText,
    /// Files and directories that could not be read.
    Unreadable,
    /// Documents that were not read completely: templates, and those that exceed a bound.
    Unread,
}

/// A release that objects were checked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CheckedRelease {
    release: KarpenterVersion,
    called: String,
    is_assumed: bool,
}

impl From<&TargetKarpenter> for CheckedRelease {
    fn from(karpenter: &TargetKarpenter) -> Self {
        Self {
            release: karpenter.release(),
            called: karpenter.called(),
            is_assumed: karpenter.is_assumed(),
        }
    }
}

/// The numbers of one file, or of all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    counts: BTreeMap<Count, usize>,
    /// The rules with findings, and how many.
    pub rules: BTreeMap<&'static str, usize>,
    /// The rule of the first of the most severe findings.
    pub worst: Option<(Severity, &'static str)>,
    /// The releases that objects were checked for.
    pub releases: BTreeSet<CheckedRelease>,
    /// The files of the policies that objects were checked against; `None` is the built-in one.
    pub policies: BTreeSet<Option<String>>,
}

impl Tally {
    pub fn of(&self, what: Count) -> usize {
        self.counts.get(&what).copied().unwrap_or_default()
    }

    pub fn add(&mut self, what: Count, count: usize) {
        *self.counts.entry(what).or_default() += count;
    }

    pub fn add_findings(&mut self, severity: Severity, count: usize) {
        let what = match severity {
            Severity::Error => Count::Errors,
            Severity::Warning => Count::Warnings,
            Severity::Note => Count::Notes,
        };
        self.add(what, count);
    }

    /// Counts what is printed.
    pub fn add_all(&mut self, findings: &[Finding]) {
        for finding in findings {
            self.add_findings(finding.severity, 1);
            self.add(Count::Lowered, usize::from(finding.is_lowered()));
            debug_assert!(
                text_rules::known(finding.rule).is_ok(),
                "{} is not listed",
                finding.rule
            );
            *self.rules.entry(finding.rule).or_default() += 1;
            self.meet(Some((finding.severity, finding.rule)));
        }
    }

    fn meet(&mut self, other: Option<(Severity, &'static str)>) {
        let severity = |worst: Option<(Severity, &str)>| worst.map(|(severity, _)| severity);
        if severity(other) > severity(self.worst) {
            self.worst = other;
        }
    }

    /// The releases that objects were checked for, the oldest first.
    pub fn releases(&self) -> Vec<String> {
        let releases: BTreeSet<_> = self.releases.iter().map(|checked| checked.release).collect();
        releases.iter().map(ToString::to_string).collect()
    }

    /// The same for people, with those that are assumed.
    pub fn releases_in_words(&self) -> String {
        let is_assumed = |checked: &CheckedRelease| checked.is_assumed;
        let (any, all) = (
            self.releases.iter().any(is_assumed),
            self.releases.iter().all(is_assumed),
        );
        let each = self.releases.iter().map(|checked| {
            if checked.is_assumed && !all {
                format!("{} {ASSUMED_RELEASE}", checked.called)
            } else {
                checked.called.clone()
            }
        });
        let releases = each.collect::<Vec<_>>().join(" and ");
        if any && all {
            format!("{releases} {ASSUMED_RELEASE}")
        } else {
            releases
        }
    }

    /// The files of the policies that objects were checked against.
    pub fn policies(&self) -> Vec<&str> {
        self.policies.iter().filter_map(Option::as_deref).collect()
    }

    /// Whether everything was read that should be.
    pub fn is_reliable(&self) -> bool {
        self.of(Count::Unreadable) == 0 && self.of(Count::Unread) == 0
    }
}

impl AddAssign<&Self> for Tally {
    fn add_assign(&mut self, other: &Self) {
        // Taken apart, so that a new field cannot be forgotten.
        let Self {
            counts,
            rules,
            worst,
            releases,
            policies,
        } = other;
        for (what, count) in counts {
            self.add(*what, *count);
        }
        for (rule, count) in rules {
            *self.rules.entry(rule).or_default() += count;
        }
        self.meet(*worst);
        self.releases.extend(releases.iter().cloned());
        self.policies.extend(policies.iter().cloned());
    }
}
