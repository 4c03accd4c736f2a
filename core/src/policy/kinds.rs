//! The kinds of values that fields may have.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use serde_json::{Value, json};

use super::record::{At, Found, Kind, did_you_mean};
use crate::diagnostic::{FieldPath, Suggestion, quoted};
use crate::facts::KarpenterVersion;
use crate::facts::shape::Constraints;
use crate::value::in_any_case;

/// A mapping whose fields are not read here.
#[derive(Debug)]
pub struct Anything;

impl Kind for Anything {
    type Value = Value;

    fn read(&self, value: &Value, path: &FieldPath, found: &mut Found) -> Option<Value> {
        if !value.is_object() {
            found.mistyped(path, value, "a mapping", None);
            return None;
        }
        Some(value.clone())
    }

    fn schema(&self) -> Value {
        json!({"type": "object"})
    }
}

/// A map from names of the user's choice.
#[derive(Debug)]
pub struct MapOf<T: 'static, K>(pub Text<T>, pub K);

impl<T: Ord, K: Kind> Kind for MapOf<T, K> {
    type Value = BTreeMap<T, K::Value>;

    fn read(&self, value: &Value, path: &FieldPath, found: &mut Found) -> Option<Self::Value> {
        let Value::Object(map) = value else {
            found.mistyped(path, value, "a mapping", None);
            return None;
        };
        let entries = map.iter().filter_map(|(key, value)| {
            let below = path.clone().key(key.clone());
            let key = self.0.parsed(key, At::Key, &below, found);
            let value = self.1.read(value, &below, found);
            Some((key?, value?))
        });
        Some(entries.collect())
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "propertyNames": {"pattern": (self.0.pattern)().unwrap_or_default()},
            "additionalProperties": self.1.schema(),
        })
    }
}

/// A list with at least so many elements.
#[derive(Debug)]
pub struct List<K>(pub usize, pub K);

impl<K: Kind> Kind for List<K> {
    type Value = Vec<K::Value>;

    fn read(&self, value: &Value, path: &FieldPath, found: &mut Found) -> Option<Self::Value> {
        let Value::Array(elements) = value else {
            let is_element = matches!(value, Value::String(_) | Value::Object(_));
            let suggestion = is_element.then_some("begin each element with a dash");
            found.mistyped(path, value, "a list", suggestion);
            return None;
        };
        if elements.len() < self.0 {
            let suggestion = "write at least one element, or remove the list";
            found.push(path, At::Value, "the list is empty", Some(suggestion));
        }
        let elements = elements.iter().enumerate();
        Some(
            elements
                .filter_map(|(index, value)| self.1.read(value, &path.clone().index(index), found))
                .collect(),
        )
    }

    fn schema(&self) -> Value {
        json!({"type": "array", "items": self.1.schema(), "minItems": self.0})
    }
}

/// One of these words.
#[derive(Debug)]
pub struct Word<T> {
    words: &'static [&'static str],
    parse: fn(&str) -> Option<T>,
    is_ours: bool,
}

/// A word of poolgate's, in any case.
pub const fn word<T>(words: &'static [&'static str], parse: fn(&str) -> Option<T>) -> Word<T> {
    Word {
        words,
        parse,
        is_ours: true,
    }
}

/// Exactly this word, which is what a file of this kind begins with.
pub const fn only(word: &'static [&'static str; 1]) -> Word<String> {
    exactly(word)
}

/// A word of Karpenter's, exactly, in the newest release that is known.
pub fn karpenter_word(field: Constraints) -> Word<String> {
    exactly(field.words(KarpenterVersion::NEWEST))
}

const fn exactly(words: &'static [&'static str]) -> Word<String> {
    Word {
        words,
        parse: |word| Some(word.to_owned()),
        is_ours: false,
    }
}

impl<T> Kind for Word<T> {
    type Value = T;

    fn read(&self, value: &Value, path: &FieldPath, found: &mut Found) -> Option<T> {
        let all = || format!("write {}", self.words.join(" or "));
        let Value::String(text) = value else {
            found.mistyped(path, value, "a string", Some(&all()));
            return None;
        };
        let word = in_any_case(text, self.words).filter(|word| self.is_ours || word == text);
        if word.is_none() {
            let suggestion = did_you_mean(text, self.words.iter().copied()).unwrap_or_else(all);
            let wrong = format!("{} is not allowed here", quoted(text));
            found.push(path, At::Value, &wrong, Some(&suggestion));
        }
        (self.parse)(word?)
    }

    fn schema(&self) -> Value {
        match self.words {
            [only] => json!({"const": only}),
            words => json!({"enum": words}),
        }
    }
}

/// A whole number within these bounds.
#[derive(Debug)]
pub struct Whole<N>(i64, i64, PhantomData<N>);

pub const fn whole<N: TryFrom<i64>>(least: i64, most: i64) -> Whole<N> {
    Whole(least, most, PhantomData)
}

impl<N: TryFrom<i64>> Kind for Whole<N> {
    type Value = N;

    fn read(&self, value: &Value, path: &FieldPath, found: &mut Found) -> Option<N> {
        let Self(least, most, _) = self;
        let Value::Number(number) = value else {
            let meant = value
                .as_str()
                .and_then(|text| text.trim_end_matches('%').parse::<i64>().ok());
            let suggestion = meant.map(|number| format!("write {number}"));
            found.mistyped(path, value, "a whole number", suggestion.as_deref());
            return None;
        };
        let whole = number.as_i64().filter(|whole| (least..=most).contains(&whole));
        if whole.is_none() {
            let wrong = format!("{number} is not a whole number from {least} to {most}");
            found.push(path, At::Value, &wrong, None);
        }
        whole?.try_into().ok()
    }

    fn schema(&self) -> Value {
        json!({"type": "integer", "minimum": self.0, "maximum": self.1})
    }
}

/// A boolean: `true` or `false`.
#[derive(Debug)]
pub struct Switch;

impl Kind for Switch {
    type Value = bool;

    fn read(&self, value: &Value, path: &FieldPath, found: &mut Found) -> Option<bool> {
        if !value.is_boolean() {
            found.mistyped(path, value, "true or false", None);
        }
        value.as_bool()
    }

    fn schema(&self) -> Value {
        json!({"type": "boolean"})
    }
}

/// The longest string that is read. Strings written by hand are less than a tenth as long.
const LONGEST: usize = 1_024;

/// A string with a grammar.
#[derive(Debug)]
pub struct Text<T: 'static> {
    /// A regular expression for the JSON Schema, which may be looser than the grammar.
    pub pattern: fn() -> Option<&'static str>,
    /// The parser.
    pub parse: fn(&str) -> Result<T, Wrong>,
}

/// Why a string is not allowed.
#[derive(Debug)]
pub struct Wrong {
    reason: String,
    suggestion: Option<String>,
}

/// What is wrong, as a clause without a full stop, and what to write instead, if that is known.
pub fn wrong<T>(reason: impl Into<String>, suggestion: Option<impl Into<Suggestion>>) -> Result<T, Wrong> {
    Err(Wrong {
        reason: reason.into(),
        suggestion: suggestion.map(|suggestion| suggestion.into().text),
    })
}

impl<T> Text<T> {
    /// The value of a string; `None` if a mistake was reported instead.
    pub fn parsed(&self, text: &str, at: At, path: &FieldPath, found: &mut Found) -> Option<T> {
        let parsed = if text.len() > LONGEST {
            let reason = format!("the string has {} bytes, more than {LONGEST}", text.len());
            wrong(reason, None::<String>)
        } else {
            (self.parse)(text)
        };
        parsed
            .map_err(|Wrong { reason, suggestion }| {
                let wrong = format!("{}: {reason}", quoted(text));
                found.push(path, at, &wrong, suggestion.as_deref());
            })
            .ok()
    }
}

impl<T> Kind for Text<T> {
    type Value = T;

    fn read(&self, value: &Value, path: &FieldPath, found: &mut Found) -> Option<T> {
        let Value::String(text) = value else {
            let is_unquoted = matches!(value, Value::Bool(_) | Value::Number(_));
            let suggestion = is_unquoted.then(|| format!("write it in quotes: \"{value}\""));
            found.mistyped(path, value, "a string", suggestion.as_deref());
            return None;
        };
        self.parsed(text, At::Value, path, found)
    }

    fn schema(&self) -> Value {
        match (self.pattern)() {
            Some(pattern) => json!({"type": "string", "pattern": pattern}),
            None => json!({"type": "string"}),
        }
    }
}
