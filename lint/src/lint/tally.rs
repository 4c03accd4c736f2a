//! The numbers of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::AddAssign;

use poolgate_core::diagnostic::{Severity, counted};
use poolgate_core::karpenter::KarpenterVersion;

use super::finding::Finding;
use super::misnamed::CheckedPools;
use crate::text_rules;

/// The numbers of one file, or of all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Files that are checked, including standard input, or stored NodePools; counted for the whole run.
    pub files: usize,
    /// The cluster that has stored them; `None` for files.
    pub cluster: Option<String>,
    /// How many NodePools and NodeClaims were checked.
    pub objects: usize,
    /// Objects of other kinds in files with NodePools.
    pub others: usize,
    pub errors: usize,
    pub warnings: usize,
    pub infos: usize,
    /// Warnings that were errors before a policy or a comment lowered them, and for which Karpenter rejects the
    /// object.
    pub lowered: usize,
    /// Findings that are counted and not shown.
    pub omitted: usize,
    /// NodePools and NodeClaims inside objects of other kinds, which are not checked.
    pub inside: usize,
    /// NodePools that only the newest release accepts as they are, which is assumed.
    pub incomplete: usize,
    /// Helm template folders that were skipped.
    pub template_folders: usize,
    /// Files of other languages below directories, which were left out.
    pub foreign: usize,
    /// Files and directories that could not be read.
    pub unreadable: usize,
    /// Documents that were not read completely because of a bound.
    pub limits: usize,
    /// Objects, counted among the others, that are patches.
    pub parts: usize,
    /// Documents that SOPS has encrypted.
    pub encrypted: usize,
    /// Findings that comments ignore.
    pub ignored: usize,
    /// Findings that the baseline holds.
    pub known: usize,
    /// Places that were fixed.
    pub fixed: usize,
    /// Places that would be fixed.
    pub fixable: usize,
    /// The rules with findings, and how many.
    pub rules: BTreeMap<&'static str, usize>,
    /// The releases that objects were checked for.
    pub releases: BTreeSet<KarpenterVersion>,
    /// The NodePools that were checked.
    pub pools: CheckedPools,
    /// The files of the policies that objects were checked against; `None` is the built-in one.
    pub policies: BTreeSet<Option<String>>,
}

impl Tally {
    pub fn count(&mut self, severity: Severity, findings: usize) {
        match severity {
            Severity::Error => self.errors += findings,
            Severity::Warning => self.warnings += findings,
            Severity::Info => self.infos += findings,
        }
    }

    /// Counts what is printed.
    pub fn count_all(&mut self, findings: &[Finding]) {
        for finding in findings {
            self.count(finding.severity, 1);
            self.lowered += usize::from(finding.is_lowered);
            debug_assert!(
                text_rules::known(finding.rule).is_ok(),
                "{} is not listed",
                finding.rule
            );
            *self.rules.entry(finding.rule).or_default() += 1;
        }
    }

    /// The releases that objects were checked for, the oldest first.
    pub fn releases(&self) -> Vec<String> {
        self.releases.iter().map(ToString::to_string).collect()
    }

    /// The files of the policies that objects were checked against.
    pub fn policies(&self) -> Vec<&str> {
        self.policies.iter().filter_map(Option::as_deref).collect()
    }

    /// Which pools older releases than the assumed one would reject, and what to do about it.
    pub fn rejected_by_older(&self) -> Option<String> {
        (self.incomplete > 0).then(|| {
            format!(
                "Karpenter 1.14 and older would reject {} for want of spec.disruption.consolidateAfter, unless a webhook writes \
                 it: name the release that the cluster runs, with --karpenter-version or in the policy (cluster.karpenter)",
                counted(self.incomplete, "NodePool")
            )
        })
    }

    /// Whether everything was read that should be.
    pub fn is_reliable(&self) -> bool {
        self.unreadable == 0 && self.limits == 0
    }
}

impl AddAssign<&Self> for Tally {
    fn add_assign(&mut self, other: &Self) {
        // Listed one by one, so that a new number cannot be forgotten.
        let Self {
            files: _,
            cluster: _,
            objects,
            others,
            inside,
            incomplete,
            errors,
            warnings,
            infos,
            lowered,
            omitted,
            template_folders,
            foreign,
            unreadable,
            limits,
            parts,
            encrypted,
            ignored,
            known,
            fixed,
            fixable,
            rules,
            releases,
            pools,
            policies,
        } = other;
        self.objects += objects;
        self.others += others;
        self.inside += inside;
        self.incomplete += incomplete;
        self.errors += errors;
        self.warnings += warnings;
        self.infos += infos;
        self.lowered += lowered;
        self.omitted += omitted;
        self.template_folders += template_folders;
        self.foreign += foreign;
        self.unreadable += unreadable;
        self.limits += limits;
        self.parts += parts;
        self.encrypted += encrypted;
        self.ignored += ignored;
        self.known += known;
        self.fixed += fixed;
        self.fixable += fixable;
        for (rule, count) in rules {
            *self.rules.entry(rule).or_default() += count;
        }
        self.releases.extend(releases);
        self.pools.extend(pools);
        self.policies.extend(policies.iter().cloned());
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let findings = [
            (self.errors, "error"),
            (self.warnings, "warning"),
            (self.infos, "note"),
        ];
        let (what, place) = match &self.cluster {
            Some(server) => ("NodePool", server.clone()),
            None => ("NodePool or NodeClaim", counted(self.files, "file")),
        };
        if self.objects == 0 {
            write!(f, "no {what} in {place}")?;
        } else {
            write!(
                f,
                "{} in {place}, checked for Karpenter {}",
                counted(self.objects, what),
                self.releases().join(" and ")
            )?;
            if self.policies.iter().any(Option::is_some) {
                let policies = self.policies.iter();
                let names = policies.map(|file| file.as_deref().unwrap_or("the built-in policy"));
                write!(f, " by {}", names.collect::<Vec<_>>().join(" and "))?;
            }
        }
        let mut found = findings.iter().filter(|(count, _)| *count > 0).peekable();
        if found.peek().is_none() && self.objects > 0 {
            f.write_str(": nothing found")?;
        }
        for (position, (count, name)) in found.enumerate() {
            let before = if position == 0 { ": " } else { ", " };
            write!(f, "{before}{}", counted(*count, name))?;
        }
        // Where manifests are found, nobody misses those.
        let foreign = if self.objects == 0 { self.foreign } else { 0 };
        let alone = match self.parts {
            1 => "checked by itself",
            _ => "checked by themselves",
        };
        for (count, what, which) in [
            (self.lowered, "warning", "that Karpenter rejects anyway"),
            (self.parts, "patch", alone),
            (self.encrypted, "encrypted document", "skipped"),
            (self.others, "other object", "skipped"),
            (
                self.inside,
                "NodePool or NodeClaim",
                "inside other objects not checked",
            ),
            (self.template_folders, "Helm template folder", "skipped"),
            (
                foreign,
                "file",
                "in other languages left out (.tf, .tpl, .jsonnet, …)",
            ),
            (self.fixed, "place", "fixed"),
            (self.fixable, "place", "to fix"),
            (self.ignored, "finding", "ignored by comments"),
            (self.known, "finding", "in the baseline"),
            (self.unreadable, "path", "not read"),
        ] {
            if count > 0 {
                write!(f, "; {} {which}", counted(count, what))?;
            }
        }
        Ok(())
    }
}
