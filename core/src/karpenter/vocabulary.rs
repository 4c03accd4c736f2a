//! The enumerations of Karpenter's API, and which release brought which value.
//!
//! Values were only ever added, so what a release knows is the beginning of a list.

use super::{ApiVersion, Release};

/// A set of words that a field may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vocabulary {
    /// `spec.disruption.consolidationPolicy`.
    ConsolidationPolicy,
    /// `operator` of a requirement.
    Operator,
    /// An element of `reasons` of a budget; v1beta1 has no such field.
    Reason,
    /// A value of the label `karpenter.sh/capacity-type`. No definition lists them.
    CapacityType,
}

/// How a release stands to a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// It knows the word.
    Yes,
    /// It does not; this later one is the first that does.
    Since(Release),
    /// No release that poolgate knows of does.
    No,
}

/// Words in the order in which they came.
#[derive(Debug)]
struct Words {
    names: &'static [&'static str],
    /// How many of them there were before each of these releases, oldest release first.
    before: &'static [(Release, usize)],
}

const CONSOLIDATION_POLICIES: Words = Words {
    names: &["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"],
    before: &[(Release::BALANCED, 2)],
};
const CONSOLIDATION_POLICIES_V1BETA1: Words = Words {
    names: &["WhenEmpty", "WhenUnderutilized"],
    before: &[],
};
const OPERATORS: Words = Words {
    names: &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"],
    before: &[(Release::GTE_LTE, 6)],
};
const OPERATORS_V1BETA1: Words = Words {
    names: &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"],
    before: &[],
};
const REASONS: Words = Words {
    names: &["Underutilized", "Empty", "Drifted", "Unhealthy"],
    before: &[(Release::UNHEALTHY, 3)],
};
const CAPACITY_TYPES: Words = Words {
    names: &["on-demand", "spot", "reserved"],
    before: &[(Release::new(1, 3, 0), 2)],
};
const NONE: Words = Words {
    names: &[],
    before: &[],
};

impl Vocabulary {
    /// The words that this release knows, in the order in which messages name them.
    pub fn words(self, version: ApiVersion, release: Release) -> &'static [&'static str] {
        let words = self.table(version);
        let grown = words.before.iter().find(|(since, _)| !release.has(*since));
        let count = grown.map_or(words.names.len(), |(_, count)| *count);
        words.names.get(..count).unwrap_or(words.names)
    }

    /// How this release stands to a word.
    pub fn knows(self, version: ApiVersion, release: Release, word: &str) -> Known {
        let words = self.table(version);
        let Some(place) = words.names.iter().position(|name| *name == word) else {
            return Known::No;
        };
        let since = words.before.iter().rev().find(|(_, count)| place >= *count);
        match since {
            Some((since, _)) if !release.has(*since) => Known::Since(*since),
            _ => Known::Yes,
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
            Vocabulary::ConsolidationPolicy.knows(ApiVersion::V1, Release::new(1, minor, 0), "Balanced")
        };
        assert_eq!(knows(13), Known::Since(Release::new(1, 14, 0)));
        assert_eq!(knows(14), Known::Yes);
        assert_eq!(
            Vocabulary::Operator.knows(ApiVersion::V1, Release::OLDEST, "Gt"),
            Known::Yes
        );
        assert_eq!(
            Vocabulary::Operator.knows(ApiVersion::V1, Release::NEWEST, "gt"),
            Known::No
        );
        assert_eq!(
            Vocabulary::Reason.knows(ApiVersion::V1Beta1, Release::NEWEST, "Empty"),
            Known::No
        );
    }

    #[test]
    fn messages_name_the_words_of_the_release() {
        let words = |release| Vocabulary::CapacityType.words(ApiVersion::V1, release);
        assert_eq!(words(Release::new(1, 2, 0)), ["on-demand", "spot"]);
        assert_eq!(words(Release::NEWEST), ["on-demand", "spot", "reserved"]);
    }
}
