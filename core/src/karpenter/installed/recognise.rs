//! Which release a definition belongs to, recognised by its constraints.

use std::fmt;

use super::schema::Schema;
use crate::karpenter::{ApiVersion, KarpenterVersion};

/// The releases that ship a definition like the one that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReleaseRange {
    /// The first.
    pub oldest: KarpenterVersion,
    /// The last that poolgate knows of; patch releases of the same minor release may follow. The cluster is checked
    /// against it: what it has beyond `oldest` does not show in a definition, and an unjustified warning is worse
    /// than a missing one.
    pub newest: KarpenterVersion,
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

/// Something new in a definition.
struct Change {
    /// The first release with it.
    since: KarpenterVersion,
    /// The last release before the next change.
    until: KarpenterVersion,
    /// Whether it is in the definition.
    is_there: fn(&Definition<'_, '_>) -> bool,
}

/// What changed in the definition, oldest first. `core/tests/releases.rs` compares it with the published
/// definitions.
const CHANGES: &[Change] = &[
    Change {
        since: KarpenterVersion::new(0, 33, 0),
        until: KarpenterVersion::new(0, 33, 0),
        is_there: |definition| definition.any(|schema| schema.requires_in_spec("template")),
    },
    Change {
        since: KarpenterVersion::BUDGETS,
        until: KarpenterVersion::BUDGETS,
        is_there: |definition| definition.any(|schema| schema.has("disruption.budgets")),
    },
    Change {
        since: KarpenterVersion::MIN_VALUES,
        until: KarpenterVersion::MIN_VALUES,
        is_there: |definition| definition.any(|schema| schema.has("template.spec.requirements[].minValues")),
    },
    Change {
        since: KarpenterVersion::COMPOUND_BUDGET_DURATIONS,
        until: KarpenterVersion::COMPOUND_BUDGET_DURATIONS,
        is_there: |definition| {
            definition.any(|schema| {
                schema.has_pattern(
                    "disruption.budgets[].duration",
                    "^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$",
                )
            })
        },
    },
    Change {
        since: KarpenterVersion::new(0, 37, 0),
        until: KarpenterVersion::new(0, 37, 0),
        is_there: |definition| {
            definition.any(|schema| schema.is_list_of("template.spec.requirements[].values", "atomic"))
        },
    },
    Change {
        since: KarpenterVersion::V1_SERVED,
        until: KarpenterVersion::V1_SERVED,
        is_there: |definition| definition.v1(|_| true),
    },
    Change {
        since: KarpenterVersion::V1_STORED,
        until: KarpenterVersion::V1_STORED,
        is_there: |definition| definition.v1(|schema| schema.stored),
    },
    Change {
        since: KarpenterVersion::DISRUPTION_DEFAULT,
        until: KarpenterVersion::new(1, 0, 8),
        is_there: |definition| definition.v1(|schema| schema.default("disruption").is_some()),
    },
    Change {
        since: KarpenterVersion::V1_ALONE,
        until: KarpenterVersion::new(1, 3, 0),
        is_there: |definition| definition.v1(|_| true) && !definition.serves_v1beta1(),
    },
    Change {
        since: KarpenterVersion::ANCHORED_DURATIONS,
        until: KarpenterVersion::new(1, 7, 0),
        is_there: |definition| {
            definition
                .v1(|schema| schema.has_pattern("disruption.consolidateAfter", "^(([0-9]+(s|m|h))+|Never)$"))
        },
    },
    Change {
        since: KarpenterVersion::STATIC_CAPACITY,
        until: KarpenterVersion::STATIC_CAPACITY,
        is_there: |definition| definition.v1(|schema| schema.has("replicas")),
    },
    Change {
        since: KarpenterVersion::GTE_LTE,
        until: KarpenterVersion::new(1, 12, 1),
        is_there: |definition| {
            definition.v1(|schema| {
                let mut operators = schema
                    .words("template.spec.requirements[].operator")
                    .into_iter()
                    .flatten();
                operators.any(|operator| &*operator == "Gte")
            })
        },
    },
    Change {
        since: KarpenterVersion::UNIQUE_REASONS,
        until: KarpenterVersion::UNIQUE_REASONS,
        is_there: |definition| {
            definition.v1(|schema| schema.is_list_of("disruption.budgets[].reasons", "set"))
        },
    },
    Change {
        since: KarpenterVersion::BALANCED,
        until: KarpenterVersion::new(1, 14, 3),
        is_there: |definition| {
            definition.v1(|schema| {
                let mut policies = schema
                    .words("disruption.consolidationPolicy")
                    .into_iter()
                    .flatten();
                policies.any(|policy| &*policy == "Balanced")
            })
        },
    },
    Change {
        since: KarpenterVersion::UNHEALTHY,
        until: KarpenterVersion::NEWEST,
        is_there: |definition| {
            definition.v1(|schema| {
                let mut reasons = schema
                    .words("disruption.budgets[].reasons[]")
                    .into_iter()
                    .flatten();
                reasons.any(|reason| &*reason == "Unhealthy")
            })
        },
    },
];

/// The releases whose definition looks like this one: those of the last change that is in it. Providers change
/// their copies, but none reverts a change.
pub(super) fn releases(schemas: &[Schema<'_>]) -> ReleaseRange {
    let definition = Definition(schemas);
    let last = CHANGES.iter().rev().find(|change| (change.is_there)(&definition));
    last.map_or(
        ReleaseRange {
            oldest: KarpenterVersion::OLDEST,
            newest: KarpenterVersion::OLDEST,
        },
        |change| ReleaseRange {
            oldest: change.since,
            newest: change.until,
        },
    )
}

/// All versions of a definition.
struct Definition<'s, 'a>(&'s [Schema<'a>]);

impl Definition<'_, '_> {
    fn any(&self, is: impl Fn(&Schema<'_>) -> bool) -> bool {
        self.0.iter().any(is)
    }

    fn v1(&self, is: impl Fn(&Schema<'_>) -> bool) -> bool {
        self.any(|schema| schema.version == ApiVersion::V1 && is(schema))
    }

    fn serves_v1beta1(&self) -> bool {
        self.any(|schema| schema.version == ApiVersion::V1Beta1 && schema.served)
    }
}
