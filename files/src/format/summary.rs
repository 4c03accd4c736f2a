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
        for part in CHECKED.iter().chain(&SKIPPED).chain(&CHANGED) {
            // Files in other languages matter only if no manifest is found.
            let is_told = part.what != Count::Foreign || objects == 0;
            let count = tally.of(part.what);
            if count > 0 && is_told {
                write!(f, "; {}", part.counted(count))?;
            }
        }
        Ok(())
    }
}

/// A part of a summary.
struct Part {
    what: Count,
    name: &'static str,
    /// What was done with one, and with several.
    which: [&'static str; 2],
}

impl Part {
    const fn new(what: Count, name: &'static str, which: &'static str) -> Self {
        Self {
            what,
            name,
            which: [which, which],
        }
    }

    fn counted(&self, count: usize) -> String {
        let [one, several] = self.which;
        let which = if count == 1 { one } else { several };
        format!("{} {which}", counted(count, self.name))
    }
}

/// Objects and documents that were not checked as objects of their own.
const CHECKED: [Part; 6] = [
    Part::new(Count::OtherKinds, "object", "of Karpenter's other kinds checked"),
    Part {
        what: Count::Parts,
        name: "patch",
        which: ["checked on its own", "checked on their own"],
    },
    Part::new(Count::Encrypted, "encrypted document", "skipped"),
    Part::new(Count::Others, "other object", "skipped"),
    Part::new(
        Count::Inside,
        "NodePool or NodeClaim",
        "inside other objects not checked",
    ),
    Part::new(
        Count::InlinePatches,
        "inline patch",
        "of kustomizations not checked",
    ),
];

/// What every command on files leaves out.
const SKIPPED: [Part; 5] = [
    Part::new(Count::TemplateFolders, "Helm template folder", "skipped"),
    Part {
        what: Count::LinkedFolders,
        name: "symbolic link",
        which: ["to a directory not followed", "to directories not followed"],
    },
    Part::new(
        Count::Foreign,
        "file",
        "in other languages skipped (.tf, .tpl, .jsonnet, …)",
    ),
    Part::new(Count::Excluded, "path", "excluded"),
    Part::new(Count::NotText, "file", "skipped that is no text"),
];

/// What was changed, and what was not read.
const CHANGED: [Part; 5] = [
    Part::new(Count::Fixed, "place", "fixed"),
    Part::new(Count::Fixable, "place", "fixable with --fix"),
    Part::new(Count::Ignored, "finding", "ignored by comments"),
    Part::new(Count::Unread, "document", "not read"),
    Part::new(Count::Unreadable, "path", "not read"),
];

/// What a run of another command than lint has left out, if it has.
pub fn skipped(tally: &Tally) -> Option<String> {
    let parts = SKIPPED.iter().filter(|part| tally.of(part.what) > 0);
    let parts: Vec<String> = parts.map(|part| part.counted(tally.of(part.what))).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
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
