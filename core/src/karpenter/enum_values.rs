//! The enumerations of Karpenter's API, and which release added which value.

use std::sync::LazyLock;

use super::shape::{Constraint, ConstraintKind, constraint, nodepool};
use super::{ApiVersion, KarpenterVersion};

/// A set of words that a field may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EnumValues {
    /// `spec.disruption.consolidationPolicy`; v1beta1 and v1 have different words.
    ConsolidationPolicy,
    /// `operator` of a requirement.
    Operator,
    /// An element of `reasons` of a budget; v1beta1 has no such field.
    Reason,
    /// A value of the label `karpenter.sh/capacity-type`. No definition lists them.
    CapacityType,
}

/// Whether a release knows a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    /// It knows the word.
    Yes,
    /// It does not; this later one is the first that does.
    Since(KarpenterVersion),
    /// No release that poolgate knows of does.
    No,
}

/// The capacity types, in the order in which they were added.
static CAPACITY_TYPES: [Constraint; 2] = [
    constraint(ConstraintKind::OneOf(&["on-demand", "spot"])).until(1, 3, 0),
    constraint(ConstraintKind::OneOf(&["on-demand", "spot", "reserved"])).since(1, 3, 0),
];

impl EnumValues {
    /// The words that this release knows, in the order in which messages name them.
    pub fn words(self, version: ApiVersion, release: KarpenterVersion) -> &'static [&'static str] {
        let mut known = self
            .enumerations(version)
            .filter(|(constraint, _)| constraint.is_in(release));
        known.next().map_or(&[], |(_, words)| words)
    }

    /// Whether this release knows the word.
    pub fn knows(self, version: ApiVersion, release: KarpenterVersion, word: &str) -> Availability {
        if self.words(version, release).contains(&word) {
            return Availability::Yes;
        }
        let mut later = self
            .enumerations(version)
            .filter(|(constraint, words)| !release.has(constraint.first()) && words.contains(&word));
        later.next().map_or(Availability::No, |(constraint, _)| {
            Availability::Since(constraint.first())
        })
    }

    /// The enumerations that releases have had, oldest first.
    fn enumerations(
        self,
        version: ApiVersion,
    ) -> impl Iterator<Item = (&'static Constraint, &'static [&'static str])> {
        let found = match version {
            ApiVersion::V1 => &*V1,
            ApiVersion::V1Beta1 => &*V1BETA1,
        };
        let constraints: &'static [Constraint] = match self {
            Self::ConsolidationPolicy => found.consolidation_policy,
            Self::Operator => found.operator,
            Self::Reason => found.reason,
            Self::CapacityType => &CAPACITY_TYPES,
        };
        constraints.iter().filter_map(|constraint| match constraint.kind {
            ConstraintKind::OneOf(words) => Some((constraint, words)),
            _ => None,
        })
    }
}

static V1: LazyLock<Enumerated> = LazyLock::new(|| Enumerated::of(ApiVersion::V1));
static V1BETA1: LazyLock<Enumerated> = LazyLock::new(|| Enumerated::of(ApiVersion::V1Beta1));

/// The constraints on the fields with enumerations, found once: a review asks for them once for each requirement.
struct Enumerated {
    consolidation_policy: &'static [Constraint],
    operator: &'static [Constraint],
    reason: &'static [Constraint],
}

impl Enumerated {
    fn of(version: ApiVersion) -> Self {
        let at = |path: &[&'static str]| nodepool(version).constraints_at(path.iter().copied());
        Self {
            consolidation_policy: at(&["spec", "disruption", "consolidationPolicy"]),
            operator: at(&["spec", "template", "spec", "requirements", "[]", "operator"]),
            reason: at(&["spec", "disruption", "budgets", "[]", "reasons", "[]"]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_known_from_its_release_on() {
        let knows = |minor| {
            EnumValues::ConsolidationPolicy.knows(
                ApiVersion::V1,
                KarpenterVersion::new(1, minor, 0),
                "Balanced",
            )
        };
        assert_eq!(knows(13), Availability::Since(KarpenterVersion::new(1, 14, 0)));
        assert_eq!(knows(14), Availability::Yes);
        assert_eq!(
            EnumValues::Operator.knows(ApiVersion::V1, KarpenterVersion::OLDEST, "Gt"),
            Availability::Yes
        );
        assert_eq!(
            EnumValues::Operator.knows(ApiVersion::V1, KarpenterVersion::NEWEST, "gt"),
            Availability::No
        );
        assert_eq!(
            EnumValues::Reason.knows(ApiVersion::V1Beta1, KarpenterVersion::NEWEST, "Empty"),
            Availability::No
        );
    }

    #[test]
    fn messages_name_the_words_of_the_release() {
        let words = |release| EnumValues::CapacityType.words(ApiVersion::V1, release);
        assert_eq!(words(KarpenterVersion::new(1, 2, 0)), ["on-demand", "spot"]);
        assert_eq!(words(KarpenterVersion::NEWEST), ["on-demand", "spot", "reserved"]);
    }
}
