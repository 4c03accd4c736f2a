//! What the API requires of a value beyond its type, and in which releases.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

use regex_lite::Regex;

use crate::facts::KarpenterVersion;
use crate::json::Json;
use crate::json::whole_number;

/// All that the definitions of any release say of one value. A definition other than Karpenter's may say it, too.
#[derive(Debug, Clone, Copy)]
pub struct Constraints(&'static [Constraint]);

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

/// The values of the label `karpenter.sh/capacity-type`, in the order in which they were added. Karpenter's code has them, no
/// definition.
// karpenter: pkg/apis/v1/labels.go WellKnownValuesForRequirements
pub(crate) static CAPACITY_TYPES: Constraints = Constraints::new(&[
    constraint(ConstraintKind::OneOf(&["on-demand", "spot"])).until(KarpenterVersion::RESERVED),
    constraint(ConstraintKind::OneOf(&["on-demand", "spot", "reserved"])).since(KarpenterVersion::RESERVED),
]);

impl Constraints {
    pub(crate) const fn new(constraints: &'static [Constraint]) -> Self {
        Self(constraints)
    }

    /// Those of one release.
    fn of(self, release: KarpenterVersion) -> impl Iterator<Item = &'static ConstraintKind> {
        let all = self.0.iter();
        all.filter(move |constraint| constraint.is_in(release))
            .map(|constraint| &constraint.kind)
    }

    /// Whether the value must be present.
    pub(crate) fn requires(self, release: KarpenterVersion) -> bool {
        self.of(release)
            .any(|kind| matches!(kind, ConstraintKind::Present))
    }

    /// The most entries of a list or map, or characters of a string.
    pub(crate) fn most(self, release: KarpenterVersion) -> Option<usize> {
        self.of(release).find_map(|kind| match kind {
            ConstraintKind::AtMost(most) => Some(*most),
            _ => None,
        })
    }

    /// The numbers that are allowed.
    pub(crate) fn range(self, release: KarpenterVersion) -> Option<&'static RangeInclusive<i64>> {
        self.of(release).find_map(|kind| match kind {
            ConstraintKind::Within(range) => Some(range),
            _ => None,
        })
    }

    /// The words that are allowed, in the order in which messages name them; none if any string is.
    pub(crate) fn words(self, release: KarpenterVersion) -> &'static [&'static str] {
        self.of(release)
            .find_map(ConstraintKind::words)
            .unwrap_or_default()
    }

    /// The pattern that a string must match; `None` if any string may be there.
    pub(crate) fn pattern(self, release: KarpenterVersion) -> Option<&'static str> {
        self.of(release).find_map(|kind| match kind {
            ConstraintKind::Matches(pattern) => Some(pattern.text),
            _ => None,
        })
    }

    /// Whether a word is allowed.
    pub(crate) fn knows(self, release: KarpenterVersion, word: &str) -> Availability {
        if self.words(release).contains(&word) {
            return Availability::Yes;
        }
        let has_word =
            |constraint: &&Constraint| constraint.kind.words().is_some_and(|words| words.contains(&word));
        let mut later = self.0.iter().filter(|constraint| !release.has(constraint.since));
        later.find(has_word).map_or(Availability::No, |constraint| {
            Availability::Since(constraint.since)
        })
    }

    /// What the API server writes for a missing value, as JSON.
    pub(crate) fn default(self, release: KarpenterVersion) -> Option<&'static str> {
        self.of(release).find_map(|kind| match kind {
            ConstraintKind::Default(json) => Some(*json),
            _ => None,
        })
    }

    /// Whether a definition rejects a string by its pattern, length or enumeration. CEL rules are not in the tables.
    pub(crate) fn rejects(self, release: KarpenterVersion, text: &str) -> bool {
        self.of(release).any(|kind| kind.rejects(text))
    }
}

/// One constraint on a value, and the releases with it.
#[derive(Debug)]
pub struct Constraint {
    /// What the value must be like.
    pub kind: ConstraintKind,
    since: KarpenterVersion,
    until: Option<KarpenterVersion>,
}

/// Which values of the right type a definition allows.
#[derive(Debug)]
pub enum ConstraintKind {
    /// Any value, but it must be present.
    Present,
    /// Numbers in this range.
    Within(RangeInclusive<i64>),
    /// Lists and maps with at most this many entries, strings with at most this many characters.
    AtMost(usize),
    /// Strings with at least this many characters.
    AtLeast(usize),
    /// Strings that are one of these words.
    OneOf(&'static [&'static str]),
    /// Strings in which this pattern is found.
    Matches(&'static Pattern),
    /// Any value; for a missing one the API server writes this JSON.
    Default(&'static str),
}

/// A constraint of all releases that serve the version.
pub(crate) const fn constraint(kind: ConstraintKind) -> Constraint {
    Constraint {
        kind,
        since: KarpenterVersion::OLDEST,
        until: None,
    }
}

impl Constraint {
    /// The constraint, limited to this release and later ones.
    pub(crate) const fn since(self, since: KarpenterVersion) -> Self {
        Self { since, ..self }
    }

    /// The constraint, limited to releases before this one.
    pub(crate) const fn until(self, until: KarpenterVersion) -> Self {
        let until = Some(until);
        Self { until, ..self }
    }

    /// Whether a release has it.
    pub(crate) fn is_in(&self, release: KarpenterVersion) -> bool {
        release.has(self.since) && self.until.is_none_or(|until| !release.has(until))
    }
}

impl ConstraintKind {
    /// Whether the value of a field meets the constraint, apart from its type. What a string must look like is left to the rules
    /// that read it: they know why.
    #[inline]
    pub(crate) fn allows(&self, value: &Json<'_>) -> bool {
        match (self, value) {
            (Self::Present, value) => !value.is_null(),
            (Self::Within(range), Json::Number(number)) => {
                whole_number(number).is_none_or(|number| range.contains(&number))
            }
            (Self::AtMost(most), value) => entries(value) <= *most,
            (Self::OneOf(words), Json::String(text)) => words.contains(&&**text),
            _ => true,
        }
    }

    /// Whether a definition rejects a string, apart from its presence.
    fn rejects(&self, text: &str) -> bool {
        match self {
            Self::AtMost(most) => text.chars().count() > *most,
            Self::AtLeast(least) => text.chars().count() < *least,
            Self::OneOf(words) => !words.contains(&text),
            Self::Matches(pattern) => !pattern.matches(text),
            Self::Present | Self::Within(_) | Self::Default(_) => false,
        }
    }

    const fn words(&self) -> Option<&'static [&'static str]> {
        match self {
            Self::OneOf(words) => Some(*words),
            _ => None,
        }
    }
}

/// A pattern of a definition, compiled when it is first asked.
pub struct Pattern {
    text: &'static str,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// A pattern as the definition has it.
    pub(crate) const fn new(text: &'static str) -> Self {
        let compiled = OnceLock::new();
        Self { text, compiled }
    }

    /// The pattern as the definition has it.
    pub(crate) const fn text(&self) -> &'static str {
        self.text
    }

    /// Whether Go finds it in a string. A test compiles and compares every pattern of the tables; one that cannot be compiled
    /// would reject nothing.
    pub(crate) fn matches(&self, text: &str) -> bool {
        // Go's white space lacks the vertical tab.
        let compile = || Regex::new(&self.text.replace(r"\s", r"[\t\n\x0c\r ]")).ok();
        let compiled = self.compiled.get_or_init(compile).as_ref();
        compiled.is_none_or(|regex| regex.is_match(text))
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

/// How many entries a list or map has for the API server, which drops null values of maps.
pub(crate) fn entries(value: &Json<'_>) -> usize {
    match value {
        Json::Array(list) => list.len(),
        Json::Object(map) => map.values().filter(|value| !value.is_null()).count(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::facts::ApiVersion;
    use crate::facts::shape::{Shape, nodepool};

    const PARTS: &[&str] = &[
        "0", "1", "9", "100", "0s", "h", "m", "s", "%", "Never", "never", "@daily", "@every", "a", "bc", "A",
        "-", ".", "/", "_", "*", " ", "\t", "\n", "\r", "\u{b}", "\u{c}", "\u{a0}", "\u{e9}", "\u{0661}",
        "+", "e", "Ki",
    ];

    fn collect(shape: &Shape, patterns: &mut BTreeMap<&'static str, &'static Pattern>) {
        match shape {
            Shape::Constrained(constraints, shape) => {
                patterns.extend(constraints.iter().filter_map(|constraint| match constraint.kind {
                    ConstraintKind::Matches(pattern) => Some((pattern.text, pattern)),
                    _ => None,
                }));
                collect(shape, patterns);
            }
            Shape::List(inner) | Shape::Map(inner) => collect(inner, patterns),
            Shape::Object(fields) | Shape::Open(fields) => {
                for (_, shape) in *fields {
                    collect(shape, patterns);
                }
            }
            _ => {}
        }
    }

    #[test]
    fn patterns_match_what_go_matches() {
        let mut patterns = BTreeMap::new();
        for version in [ApiVersion::V1, ApiVersion::V1Beta1] {
            collect(nodepool(version), &mut patterns);
        }
        let read: Vec<_> = patterns
            .into_values()
            .map(|pattern| {
                let ascii = pattern
                    .text
                    .replace(r"\s", r"[\t\n\x0c\r ]")
                    .replace(r"\d", "[0-9]");
                (pattern, regex::Regex::new(&ascii).expect("a pattern"))
            })
            .collect();
        assert!(read.len() > 5, "{read:?}");
        for (pattern, _) in &read {
            let _ = pattern.matches("");
            assert!(matches!(pattern.compiled.get(), Some(Some(_))), "{pattern:?}");
        }
        let text = prop::collection::vec(select(PARTS), 0..14).prop_map(|parts| parts.concat());
        let few = prop::collection::vec(select(PARTS), 0..5).prop_map(|parts| parts.concat());
        let any = "\\PC{0,12}";
        proptest!(ProptestConfig::with_cases(4_000), |(text in prop_oneof![few, text, any])| {
            for (pattern, regex) in &read {
                prop_assert_eq!(pattern.matches(&text), regex.is_match(&text), "{:?}", pattern);
            }
        });
    }

    #[test]
    fn a_word_is_known_from_its_release_on() {
        let policy = nodepool(ApiVersion::V1).at("spec.disruption.consolidationPolicy");
        let knows = |minor| policy.knows(KarpenterVersion::new(1, minor, 0), "Balanced");
        assert_eq!(knows(13), Availability::Since(KarpenterVersion::new(1, 14, 0)));
        assert_eq!(knows(14), Availability::Yes);
        let operator = nodepool(ApiVersion::V1).at("spec.template.spec.requirements[].operator");
        assert_eq!(operator.knows(KarpenterVersion::NEWEST, "gt"), Availability::No);
        let words = |release| CAPACITY_TYPES.words(release);
        assert_eq!(words(KarpenterVersion::new(1, 2, 0)), ["on-demand", "spot"]);
        assert_eq!(words(KarpenterVersion::NEWEST), ["on-demand", "spot", "reserved"]);
    }
}
