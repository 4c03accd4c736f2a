//! What the API requires of a value beyond its type, and what poolgate reports if it is not met.

use std::ops::RangeInclusive;

use crate::diagnostic::{Problem, RuleId, Suggestion, quoted};
use crate::json::Json;
use crate::karpenter::{KarpenterVersion, whole_number};

/// One constraint on a value.
#[derive(Debug)]
pub struct Demand {
    /// The rule that reports it.
    pub rule: RuleId,
    /// The first release with it.
    pub since: KarpenterVersion,
    /// What is legal.
    pub legal: Legal,
    /// What is reported for any other value: a clause without a full stop.
    pub reason: &'static str,
    /// What to write instead, if that does not depend on the value.
    pub suggestion: Option<&'static str>,
}

/// Which values of the right type are legal.
#[derive(Debug)]
pub enum Legal {
    /// Any value, but it must be present.
    Present,
    /// Numbers in this range; and what to write instead of another.
    Within(RangeInclusive<i64>, fn(i64) -> Option<&'static str>),
    /// Lists and maps with at most this many entries.
    AtMost(usize),
    /// These words.
    OneOf(&'static [&'static str]),
}

/// How a value violates a constraint.
#[derive(Debug)]
pub struct Missed {
    /// The constraint.
    pub demand: &'static Demand,
    /// What is wrong with the value.
    pub problem: Problem,
    /// What to write instead.
    pub suggestion: Option<Suggestion>,
}

impl Demand {
    /// What is wrong with the value of a field, apart from its type.
    pub(crate) fn missed_by(&'static self, value: &Json<'_>) -> Option<Missed> {
        let (problem, suggestion) = match (&self.legal, value) {
            (Legal::Present, Json::Null) => (Problem::Required, self.suggestion()),
            (Legal::Within(legal, instead), Json::Number(number)) => {
                let number = whole_number(number).filter(|number| !legal.contains(number))?;
                let value = number.to_string();
                (Problem::Invalid { value }, instead(number).map(Suggestion::from))
            }
            (Legal::AtMost(most), Json::Array(list)) if list.len() > *most => {
                (Problem::TooMany { actual: list.len() }, self.suggestion())
            }
            (Legal::AtMost(most), Json::Object(map)) if map.len() > *most => {
                // The API server drops null values.
                let actual = map.iter().filter(|(_, value)| !value.is_null()).count();
                let problem = (actual > *most).then_some(Problem::TooMany { actual })?;
                (problem, self.suggestion())
            }
            (Legal::OneOf(supported), Json::String(text)) if !supported.contains(&&**text) => {
                let value = quoted(text);
                (
                    Problem::Unsupported { value, supported },
                    Suggestion::spelling(text, supported),
                )
            }
            _ => return None,
        };
        Some(Missed {
            demand: self,
            problem,
            suggestion,
        })
    }

    fn suggestion(&self) -> Option<Suggestion> {
        self.suggestion.map(Suggestion::from)
    }
}
