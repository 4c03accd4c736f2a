//! Which release a definition belongs to, recognised by its constraints.

use std::fmt;

use super::schema::Schema;
use crate::karpenter::{ApiVersion, KarpenterVersion};

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
        let change = CHANGES.iter().rev().find(|change| change.since <= release);
        change.map_or(
            Self {
                oldest: release,
                newest: release,
            },
            Change::releases,
        )
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

/// The keyword that says how a list is merged.
const LIST_TYPE: &str = "x-kubernetes-list-type";

/// Something new in a definition.
struct Change {
    /// The first release with it.
    since: KarpenterVersion,
    /// The last release before the next change.
    until: KarpenterVersion,
    /// Whether it is in the definition.
    is_there: fn(&Definition<'_>) -> bool,
}

/// A change with only one release before the next one.
const fn at(since: KarpenterVersion, is_there: fn(&Definition<'_>) -> bool) -> Change {
    Change {
        since,
        until: since,
        is_there,
    }
}

impl Change {
    const fn releases(&self) -> ReleaseRange {
        ReleaseRange {
            oldest: self.since,
            newest: self.until,
        }
    }

    /// Sets the last release before the next change.
    const fn until(self, until: KarpenterVersion) -> Self {
        Self { until, ..self }
    }
}

/// What changed in the definition, oldest first. `core/tests/releases.rs` compares it with the published
/// definitions.
const CHANGES: &[Change] = &[
    at(KarpenterVersion::OLDEST, |definition| definition.v1(|_| true)),
    at(KarpenterVersion::V1_STORED, |definition| {
        definition.v1(|schema| schema.stored)
    }),
    at(KarpenterVersion::DISRUPTION_DEFAULT, |definition| {
        definition.v1(|schema| schema.default_of("disruption").is_some())
    })
    .until(KarpenterVersion::new(1, 0, 8)),
    at(KarpenterVersion::V1_ALONE, |definition| {
        definition.v1(|_| true) && !definition.serves_v1beta1()
    })
    .until(KarpenterVersion::new(1, 3, 0)),
    at(KarpenterVersion::ANCHORED_DURATIONS, |definition| {
        let pattern = "^(([0-9]+(s|m|h))+|Never)$";
        definition.v1(|schema| schema.says("disruption.consolidateAfter", "pattern", pattern))
    })
    .until(KarpenterVersion::new(1, 7, 0)),
    at(KarpenterVersion::STATIC_CAPACITY, |definition| {
        definition.v1(|schema| schema.has("replicas"))
    }),
    at(KarpenterVersion::GTE_LTE, |definition| {
        definition.v1(|schema| schema.has_word("template.spec.requirements[].operator", "Gte"))
    })
    .until(KarpenterVersion::new(1, 12, 1)),
    at(KarpenterVersion::UNIQUE_REASONS, |definition| {
        definition.v1(|schema| schema.says("disruption.budgets[].reasons", LIST_TYPE, "set"))
    }),
    at(KarpenterVersion::BALANCED, |definition| {
        definition.v1(|schema| schema.has_word("disruption.consolidationPolicy", "Balanced"))
    })
    .until(KarpenterVersion::new(1, 14, 3)),
    at(KarpenterVersion::UNHEALTHY, |definition| {
        definition.v1(|schema| schema.has_word("disruption.budgets[].reasons[]", "Unhealthy"))
    })
    .until(KarpenterVersion::NEWEST),
];

/// The releases whose definition looks like this one: those of the last change that is in it; `None` for a definition
/// that is older than all known ones. Providers change their copies, but none reverts a change.
pub fn releases(schemas: &[Schema]) -> Option<ReleaseRange> {
    let definition = Definition(schemas);
    let last = CHANGES.iter().rev().find(|change| (change.is_there)(&definition));
    last.map(Change::releases)
}

/// All versions of a definition.
struct Definition<'s>(&'s [Schema]);

impl Definition<'_> {
    fn any(&self, is: impl Fn(&Schema) -> bool) -> bool {
        self.0.iter().any(is)
    }

    fn v1(&self, is: impl Fn(&Schema) -> bool) -> bool {
        self.any(|schema| schema.version == ApiVersion::V1 && is(schema))
    }

    fn serves_v1beta1(&self) -> bool {
        self.any(|schema| schema.version == ApiVersion::V1Beta1 && schema.served)
    }
}
