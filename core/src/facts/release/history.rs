//! Looks up in the table of definitions which release was the first to say something.

use super::KarpenterVersion;
use super::definition::{Definition, ReleaseRange, Said};
use super::definitions::DEFINITIONS;

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

/// The last release that serves this version, and the first after it.
pub(super) const fn serves_until(version: &str) -> [KarpenterVersion; 2] {
    let mut rest: &[Definition] = &DEFINITIONS;
    while let [definition, after @ ..] = rest {
        if let [next, ..] = after
            && serves(definition, version)
            && !serves(next, version)
        {
            return [definition.releases.newest, next.releases.oldest];
        }
        rest = after;
    }
    [not_recorded(), not_recorded()]
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
