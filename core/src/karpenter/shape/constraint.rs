//! What the API requires of a value beyond its type.

use std::ops::RangeInclusive;

use super::patterns::matcher;
use crate::json::Json;
use crate::karpenter::{KarpenterVersion, whole_number};

/// One constraint on a value, and the releases with it.
#[derive(Debug)]
pub struct Constraint {
    /// What the value must be like.
    pub kind: ConstraintKind,
    since: KarpenterVersion,
    until: Option<KarpenterVersion>,
}

/// Which values of the right type the definition allows.
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
    Matches(&'static str),
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
    pub(crate) const fn since(self, major: u16, minor: u16, patch: u16) -> Self {
        let since = KarpenterVersion::new(major, minor, patch);
        Self { since, ..self }
    }

    /// The constraint, limited to releases before this one.
    pub(crate) const fn until(self, major: u16, minor: u16, patch: u16) -> Self {
        let until = Some(KarpenterVersion::new(major, minor, patch));
        Self { until, ..self }
    }

    /// The first release with it.
    pub(crate) const fn first(&self) -> KarpenterVersion {
        self.since
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

    /// Whether the definition rejects a text, apart from its presence.
    pub fn rejects(&self, text: &str) -> bool {
        match self {
            Self::AtMost(most) => text.chars().count() > *most,
            Self::AtLeast(least) => text.chars().count() < *least,
            Self::OneOf(words) => !words.contains(&text),
            Self::Matches(pattern) => matcher(pattern).is_some_and(|matches| !matches(text)),
            Self::Present | Self::Within(_) | Self::Default(_) => false,
        }
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
