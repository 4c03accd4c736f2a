//! JSON for reviews: a tree that borrows its texts from the input.
//!
//! `serde_json::Value` owns every text and keeps objects in B-trees; building it cost more than all rules together.
//! Knows nothing of Kubernetes except what callers leave out.

mod object;
mod parsed_size;
mod read;

use std::borrow::Cow;
use std::fmt;

use serde_json::{Number, Value};

pub use object::{Entries, Object};
pub use parsed_size::{MOST_PER_BYTE, parsed_size};
pub use read::{FieldMask, read};

/// A JSON value that borrows what it can.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Json<'a> {
    /// `null`; the default.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, whole or not.
    Number(Number),
    /// A string. Owned only if it was written with escapes.
    String(Cow<'a, str>),
    /// A list, with its elements in order.
    Array(Vec<Self>),
    /// An object, with its entries sorted by key.
    Object(Object<'a>),
}

/// The largest whole number that a float holds exactly.
const EXACT: f64 = 9_007_199_254_740_991.0;

/// The number if the API server accepts it as a whole one: `3.0` is; a number beyond 64 bits is not, because the
/// API server reads it as a float which may have lost digits.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a whole float of at most 53 bits fits"
)]
pub(crate) fn whole_number(number: &Number) -> Option<i64> {
    let float = || {
        number
            .as_f64()
            .filter(|value| value.fract() == 0.0 && value.abs() <= EXACT)
    };
    number.as_i64().or_else(|| float().map(|value| value as i64))
}

impl<'a> Json<'a> {
    /// The value under a key; `None` if this is not an object.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_object()?.get(key)
    }

    /// Removes and returns the value under a key; null if there is none.
    #[must_use]
    pub fn take(&mut self, key: &str) -> Self {
        self.get_mut(key).map_or(Self::Null, std::mem::take)
    }

    /// Like [`Json::get`], but mutable.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        match self {
            Self::Object(object) => object.get_mut(key),
            _ => None,
        }
    }

    /// An element of a list, counted from 0, mutable; `None` if this is not a list.
    pub(crate) fn at_mut(&mut self, index: usize) -> Option<&mut Self> {
        match self {
            Self::Array(elements) => elements.get_mut(index),
            _ => None,
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The number; `None` if this is not one.
    pub(crate) const fn as_number(&self) -> Option<&Number> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The number, if it is written as a whole one and fits.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// The number, however it is written.
    pub fn as_f64(&self) -> Option<f64> {
        self.as_number()?.as_f64()
    }

    /// The elements of a list.
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The object; `None` if this is not one.
    pub const fn as_object(&self) -> Option<&Object<'a>> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// An owned copy, which borrows nothing.
    pub fn into_owned(self) -> Json<'static> {
        match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(value),
            Self::Number(number) => Json::Number(number),
            Self::String(text) => Json::String(Cow::Owned(text.into_owned())),
            Self::Array(elements) => Json::Array(elements.into_iter().map(Self::into_owned).collect()),
            Self::Object(object) => Json::Object(object.into_owned()),
        }
    }

    /// True if it is `null`.
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// True if it is an object.
    pub const fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }
}

impl<'a> From<&'a Value> for Json<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Number(number.clone()),
            Value::String(text) => Self::from(text.as_str()),
            Value::Array(elements) => Self::Array(elements.iter().map(Self::from).collect()),
            Value::Object(map) => Self::Object(
                map.iter()
                    .map(|(key, value)| (Cow::Borrowed(key.as_str()), Self::from(value)))
                    .collect(),
            ),
        }
    }
}

impl From<&Json<'_>> for Value {
    fn from(json: &Json<'_>) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => Self::Number(number.clone()),
            Json::String(text) => Self::String(text.clone().into_owned()),
            Json::Array(elements) => elements.iter().map(Self::from).collect(),
            Json::Object(object) => object
                .iter()
                .map(|(key, value)| (key.to_owned(), Self::from(value)))
                .collect(),
        }
    }
}

impl<'a> From<&'a str> for Json<'a> {
    fn from(text: &'a str) -> Self {
        Self::String(Cow::Borrowed(text))
    }
}

impl From<i64> for Json<'_> {
    fn from(number: i64) -> Self {
        Self::Number(number.into())
    }
}

/// A scalar as JSON writes it. Lists and objects only by their kind, because they can be of any size.
impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => value.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::String(text) => Value::from(text.as_ref()).fmt(f),
            Self::Array(_) => f.write_str("[…]"),
            Self::Object(_) => f.write_str("{…}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_those_that_serde_json_reads_and_order_makes_no_difference() {
        let text = r#"{"b":[1,-2,3.5,true,null,"x\ny"],"a":{"":{}},"b2":18446744073709551615}"#;
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(read(text, FieldMask::All).unwrap(), Json::from(&value));
        let turned = json!({"b2": 18_446_744_073_709_551_615_u64, "a": {"": {}}, "b": [1, -2, 3.5, true, null, "x\ny"]});
        assert_eq!(read(text, FieldMask::All).unwrap(), Json::from(&turned));
    }

    #[test]
    fn scalars_are_shown_as_json_writes_them() {
        for text in [r#""a\"\u0007b""#, "null", "true", "-1", "3.5"] {
            assert_eq!(read(text, FieldMask::All).unwrap().to_string(), text);
        }
    }

    #[test]
    fn texts_are_borrowed_unless_they_hold_escapes() {
        let read = read(r#"{"plain":"text","\u0041":"\t"}"#, FieldMask::All).unwrap();
        assert!(matches!(
            read.get("plain"),
            Some(Json::String(Cow::Borrowed("text")))
        ));
        assert!(matches!(read.get("A"), Some(Json::String(Cow::Owned(text))) if text == "\t"));
    }
}
