//! What the NodePool definitions say, release by release. [`DEFINITIONS`] is generated from the recorded ones, so each
//! milestone that a definition shows is looked up, and a definition that is installed is recognised by the same table.

use std::fmt;

use super::KarpenterVersion;
use super::definitions::DEFINITIONS;
use crate::facts::{ApiVersion, Schema};

/// A NodePool definition that Karpenter published.
pub(super) struct Definition {
    /// The releases that ship it.
    pub(super) releases: ReleaseRange,
    /// The versions of the API that it serves.
    pub(super) served: &'static [&'static str],
    /// The version that is stored.
    pub(super) stored: &'static str,
    /// What its `v1` says, and the definition before does not.
    pub(super) begins: &'static [Said],
    /// What the definition before says of `v1`, and it does not.
    pub(super) ends: &'static [Said],
}

/// What a definition says of the field at a path: a keyword of its schema with a value, one word of an enumeration, or the
/// message of a rule.
pub(crate) struct Said {
    /// The path, such as `spec.disruption.budgets[].nodes`.
    pub(crate) path: &'static str,
    /// The keyword, such as `enum`.
    pub(crate) keyword: &'static str,
    /// The value: a string as it is, anything else as JSON.
    pub(crate) value: &'static str,
}

pub(super) const fn said(path: &'static str, keyword: &'static str, value: &'static str) -> Said {
    Said { path, keyword, value }
}

/// The releases that ship a definition like the one that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReleaseRange {
    /// The first release that ships it.
    pub oldest: KarpenterVersion,
    /// The last that poolgate knows of; patch releases of the same minor release may follow. The cluster is checked
    /// against it: what it has beyond `oldest` does not show in a definition, and an unjustified warning is worse
    /// than a missing one.
    pub newest: KarpenterVersion,
}

impl ReleaseRange {
    /// The releases with the definition of this one.
    pub fn like(release: KarpenterVersion) -> Self {
        let known = DEFINITIONS.iter().map(|definition| definition.releases);
        let like = known.rev().find(|range| range.oldest <= release);
        like.unwrap_or(Self {
            oldest: release,
            newest: release,
        })
    }
}

impl fmt::Display for ReleaseRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.oldest == self.newest {
            write!(f, "{}", self.oldest)
        } else {
            write!(f, "{} to {}", self.oldest, self.newest)
        }
    }
}

/// The releases whose definition looks like this one: those of the newest one with something new that is in it; `None` for a
/// definition that is older than all known ones. Providers change their copies, but none takes anything back.
pub(crate) fn releases(schemas: &[Schema]) -> Option<ReleaseRange> {
    let v1 = schemas.iter().find(|schema| schema.version == ApiVersion::V1)?;
    let serves_old = schemas
        .iter()
        .any(|schema| schema.version != ApiVersion::V1 && schema.served);
    let old = ApiVersion::V1Beta1.as_str();
    let mut before: Option<&Definition> = None;
    let mut like = None;
    for definition in &DEFINITIONS {
        let is_first = |was: fn(&Definition, &str) -> bool, version| {
            was(definition, version) && before.is_some_and(|before| !was(before, version))
        };
        let begins = definition.begins.iter().any(|said| v1.says(said));
        let stores = v1.stored && is_first(|one, version| one.stored == version, v1.version.as_str());
        let serves_v1_alone = !serves_old && is_first(|one, version| !one.served.contains(&version), old);
        if before.is_none() || begins || stores || serves_v1_alone {
            like = Some(definition.releases);
        }
        before = Some(definition);
    }
    like
}

/// The oldest and the newest release that is known.
pub(super) const fn known() -> ReleaseRange {
    let [first, .., last] = &DEFINITIONS;
    ReleaseRange {
        oldest: first.releases.oldest,
        newest: last.releases.newest,
    }
}

/// The first release whose definition says this of a field.
pub(super) const fn begins(path: &str, value: &str) -> KarpenterVersion {
    let mut rest: &[Definition] = &DEFINITIONS;
    while let [definition, later @ ..] = rest {
        if is_said(definition.begins, path, value) {
            return definition.releases.oldest;
        }
        rest = later;
    }
    not_recorded()
}

/// The first release whose definition no longer says this of a field.
pub(super) const fn ends(path: &str, value: &str) -> KarpenterVersion {
    let mut rest: &[Definition] = &DEFINITIONS;
    while let [definition, later @ ..] = rest {
        if is_said(definition.ends, path, value) {
            return definition.releases.oldest;
        }
        rest = later;
    }
    not_recorded()
}

/// The first release that stores this version.
pub(super) const fn stores(version: &str) -> KarpenterVersion {
    let mut rest: &[Definition] = &DEFINITIONS;
    while let [definition, later @ ..] = rest {
        if same(definition.stored, version) {
            return definition.releases.oldest;
        }
        rest = later;
    }
    not_recorded()
}

/// The last release that serves this version.
pub(super) const fn serves_last(version: &str) -> KarpenterVersion {
    let mut rest: &[Definition] = &DEFINITIONS;
    while let [definition, after @ ..] = rest {
        if let [next, ..] = after
            && serves(definition, version)
            && !serves(next, version)
        {
            return definition.releases.newest;
        }
        rest = after;
    }
    not_recorded()
}

/// The first release that no longer serves this version.
pub(super) const fn serves_no_more(version: &str) -> KarpenterVersion {
    let mut rest: &[Definition] = &DEFINITIONS;
    while let [definition, after @ ..] = rest {
        if let [next, ..] = after
            && serves(definition, version)
            && !serves(next, version)
        {
            return next.releases.oldest;
        }
        rest = after;
    }
    not_recorded()
}

const fn serves(definition: &Definition, version: &str) -> bool {
    let mut rest = definition.served;
    while let [one, others @ ..] = rest {
        if same(one, version) {
            return true;
        }
        rest = others;
    }
    false
}

const fn is_said(all: &[Said], path: &str, value: &str) -> bool {
    let mut rest = all;
    while let [said, others @ ..] = rest {
        if same(said.path, path) && same(said.value, value) {
            return true;
        }
        rest = others;
    }
    false
}

/// Equality of strings in a constant.
const fn same(one: &str, other: &str) -> bool {
    let (mut one, mut other) = (one.as_bytes(), other.as_bytes());
    loop {
        match (one, other) {
            ([], []) => return true,
            ([a, one_rest @ ..], [b, other_rest @ ..]) if *a == *b => (one, other) = (one_rest, other_rest),
            _ => return false,
        }
    }
}

#[expect(clippy::panic, reason = "only constants look up: it stops the compiler")]
const fn not_recorded() -> KarpenterVersion {
    panic!("no recorded definition says this")
}
