//! What the API requires of a value beyond its type.

use std::ops::RangeInclusive;

use crate::json::Json;
use crate::karpenter::{KarpenterVersion, whole_number};

/// One constraint on a value.
#[derive(Debug)]
pub struct Demand {
    /// The first release with it.
    pub since: KarpenterVersion,
    /// What is legal.
    pub legal: Legal,
}

/// Which values of the right type are legal.
#[derive(Debug)]
pub enum Legal {
    /// Any value, but it must be present.
    Present,
    /// Numbers in this range.
    Within(RangeInclusive<i64>),
    /// Lists and maps with at most this many entries.
    AtMost(usize),
    /// These words.
    OneOf(&'static [&'static str]),
}

impl Legal {
    /// Whether the value of a field is legal, apart from its type.
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
}

/// How many entries a list or map has for the API server, which drops null values of maps.
pub(crate) fn entries(value: &Json<'_>) -> usize {
    match value {
        Json::Array(list) => list.len(),
        Json::Object(map) => map.values().filter(|value| !value.is_null()).count(),
        _ => 0,
    }
}
