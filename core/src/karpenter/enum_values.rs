//! The enumerations of Karpenter's API, and which release added which value.
//!
//! Values were only ever added, so a release knows the first values of a list.

use super::{ApiVersion, KarpenterVersion, Operator};

/// A set of words that a field may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EnumValues {
    /// `spec.disruption.consolidationPolicy`.
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

/// Words in the order in which they were added.
#[derive(Debug)]
struct Words {
    names: &'static [&'static str],
    /// How many of them there were before each of these releases, oldest release first.
    before: &'static [(KarpenterVersion, usize)],
}

const CONSOLIDATION_POLICIES: Words = Words {
    names: &["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"],
    before: &[(KarpenterVersion::BALANCED, 2)],
};
const CONSOLIDATION_POLICIES_V1BETA1: Words = Words {
    names: &["WhenEmpty", "WhenUnderutilized"],
    before: &[],
};
const OPERATORS: Words = Words {
    names: Operator::VALUES,
    before: &[(KarpenterVersion::GTE_LTE, 6)],
};
const OPERATORS_V1BETA1: Words = Words {
    names: &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"],
    before: &[],
};
const REASONS: Words = Words {
    names: &["Underutilized", "Empty", "Drifted", "Unhealthy"],
    before: &[(KarpenterVersion::UNHEALTHY, 3)],
};
const CAPACITY_TYPES: Words = Words {
    names: &["on-demand", "spot", "reserved"],
    before: &[(KarpenterVersion::new(1, 3, 0), 2)],
};
const NONE: Words = Words {
    names: &[],
    before: &[],
};

impl EnumValues {
    /// The words that this release knows, in the order in which messages name them.
    pub fn words(self, version: ApiVersion, release: KarpenterVersion) -> &'static [&'static str] {
        let words = self.table(version);
        let grown = words.before.iter().find(|(since, _)| !release.has(*since));
        let count = grown.map_or(words.names.len(), |(_, count)| *count);
        words.names.get(..count).unwrap_or(words.names)
    }

    /// Whether this release knows the word.
    pub fn knows(self, version: ApiVersion, release: KarpenterVersion, word: &str) -> Availability {
        let words = self.table(version);
        let Some(place) = words.names.iter().position(|name| *name == word) else {
            return Availability::No;
        };
        let since = words.before.iter().rev().find(|(_, count)| place >= *count);
        match since {
            Some((since, _)) if !release.has(*since) => Availability::Since(*since),
            _ => Availability::Yes,
        }
    }

    const fn table(self, version: ApiVersion) -> &'static Words {
        match (self, version) {
            (Self::ConsolidationPolicy, ApiVersion::V1) => &CONSOLIDATION_POLICIES,
            (Self::ConsolidationPolicy, ApiVersion::V1Beta1) => &CONSOLIDATION_POLICIES_V1BETA1,
            (Self::Operator, ApiVersion::V1) => &OPERATORS,
            (Self::Operator, ApiVersion::V1Beta1) => &OPERATORS_V1BETA1,
            (Self::Reason, ApiVersion::V1) => &REASONS,
            (Self::Reason, ApiVersion::V1Beta1) => &NONE,
            (Self::CapacityType, _) => &CAPACITY_TYPES,
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
