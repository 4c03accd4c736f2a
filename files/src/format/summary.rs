//! The summary of a run, for people.

use std::fmt;

use poolgate_core::diagnostic::counted;

use super::tally::{Count, Tally};

/// Where the objects of a run come from.
#[derive(Debug)]
pub enum Scope {
    /// This many files, including standard input.
    Files(usize),
    /// The cluster at this address, which has stored this many NodePools.
    Cluster { server: String, pools: usize },
}

impl Scope {
    /// How many files or stored objects are checked.
    pub fn len(&self) -> usize {
        match self {
            Self::Files(count) | Self::Cluster { pools: count, .. } => *count,
        }
    }
}

/// One line with the numbers of a run.
#[derive(Debug, Clone, Copy)]
pub struct Summary<'a> {
    pub tally: &'a Tally,
    pub scope: &'a Scope,
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tally, scope } = *self;
        let place = match scope {
            Scope::Cluster { server, .. } => server.clone(),
            Scope::Files(files) => counted(*files, "file"),
        };
        let (objects, claims) = (tally.of(Count::Objects), tally.of(Count::Claims));
        f.write_str(&counted(objects - claims, "NodePool"))?;
        if claims > 0 {
            write!(f, " and {}", counted(claims, "NodeClaim"))?;
        }
        write!(f, " in {place}")?;
        if objects > 0 {
            write!(f, ", checked for Karpenter {}", tally.releases_in_words())?;
            if tally.policies.iter().any(Option::is_some) {
                let policies = tally.policies.iter();
                let names = policies.map(|file| file.as_deref().unwrap_or("the built-in policy"));
                write!(f, " by {}", names.collect::<Vec<_>>().join(" and "))?;
            }
        }
        let found = [
            (Count::Errors, "error"),
            (Count::Warnings, "warning"),
            (Count::Notes, "note"),
        ];
        let found = found.map(|(what, name)| (tally.of(what), name));
        let found = found.iter().filter(|(count, _)| *count > 0);
        let found: Vec<String> = found.map(|(count, name)| counted(*count, name)).collect();
        match found.as_slice() {
            [] if objects > 0 => f.write_str(": nothing found")?,
            [] => {}
            found => write!(f, ": {}", found.join(", "))?,
        }
        let lowered = tally.of(Count::Lowered);
        if lowered > 0 {
            write!(f, " ({lowered} that Karpenter rejects anyway)")?;
        }
        for (what, name, which) in [
            (Count::Parts, "patch", "checked on its own"),
            (Count::Encrypted, "encrypted document", "skipped"),
            (Count::Others, "other object", "skipped"),
            (Count::Overlays, "NodeOverlay", "not checked"),
            (
                Count::Inside,
                "NodePool or NodeClaim",
                "inside other objects not checked",
            ),
            (
                Count::InlinePatches,
                "inline patch",
                "of kustomizations not checked",
            ),
            (Count::TemplateFolders, "Helm template folder", "skipped"),
            (
                Count::LinkedFolders,
                "symbolic link",
                "to a directory not followed",
            ),
            (
                Count::Foreign,
                "file",
                "in other languages skipped (.tf, .tpl, .jsonnet, …)",
            ),
            (Count::Fixed, "place", "fixed"),
            (Count::Fixable, "place", "fixable with --fix"),
            (Count::Ignored, "finding", "ignored by comments"),
            (Count::Unread, "document", "not read"),
            (Count::Unreadable, "path", "not read"),
        ] {
            // Files in other languages matter only if no manifest is found.
            let is_told = what != Count::Foreign || objects == 0;
            let which = match (what, tally.of(what)) {
                (Count::Parts, 2..) => "checked on their own",
                (Count::LinkedFolders, 2..) => "to directories not followed",
                _ => which,
            };
            if tally.of(what) > 0 && is_told {
                write!(f, "; {} {which}", counted(tally.of(what), name))?;
            }
        }
        Ok(())
    }
}

/// Where more is said of the rules with findings.
pub fn more_of_rules(tally: &Tally) -> Option<String> {
    let (_, rule) = tally.worst?;
    Some(format!("more about a rule: poolgate explain {rule}"))
}

/// Which pools older releases than the assumed one would reject, and what to do about it.
pub fn rejected_by_older(tally: &Tally) -> Option<String> {
    let incomplete = tally.of(Count::Incomplete);
    (incomplete > 0).then(|| {
        format!(
            "{} without spec.disruption.consolidateAfter, which Karpenter 1.14 and older require unless a webhook writes it. \
             Name your release: --karpenter-version, or cluster.karpenter in the policy",
            counted(incomplete, "NodePool")
        )
    })
}

/// What fixes do to nodes, if some of them change what Karpenter compares nodes with.
pub fn replaced_by_fixes(tally: &Tally) -> Option<String> {
    let replacing = tally.of(Count::Replacing);
    (replacing > 0).then(|| {
        format!(
            "{} in spec.template. Karpenter then replaces all nodes of the pool, as its budgets allow",
            counted(replacing, "change")
        )
    })
}
