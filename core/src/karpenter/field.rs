//! A field as it was found.

use serde_json::{Map, Value};

/// A field of an object that may be missing or of the wrong JSON type. An explicit `null` counts as missing,
/// because the API server prunes it before it looks at anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<T> {
    /// Not there.
    Absent,
    /// There, but of another type than the API demands; the shape check speaks of it.
    Mistyped,
    /// There, and of the right type.
    Present(T),
}

impl<T> Field<T> {
    /// The value, where there is one of the right type.
    pub fn present(self) -> Option<T> {
        match self {
            Self::Present(value) => Some(value),
            Self::Absent | Self::Mistyped => None,
        }
    }

    /// Whether the object says nothing here.
    pub const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// The same field with its value turned into something else.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Field<U> {
        match self {
            Self::Absent => Field::Absent,
            Self::Mistyped => Field::Mistyped,
            Self::Present(value) => Field::Present(convert(value)),
        }
    }

    /// The value by reference.
    pub const fn as_ref(&self) -> Field<&T> {
        match self {
            Self::Absent => Field::Absent,
            Self::Mistyped => Field::Mistyped,
            Self::Present(value) => Field::Present(value),
        }
    }

    fn read<'v>(from: Option<&'v Value>, convert: impl FnOnce(&'v Value) -> Option<T>) -> Self {
        match from {
            None | Some(Value::Null) => Self::Absent,
            Some(value) => convert(value).map_or(Self::Mistyped, Self::Present),
        }
    }
}

impl<'v> Field<&'v str> {
    /// The text under `key`.
    pub fn text(of: &'v Map<String, Value>, key: &str) -> Self {
        Self::read(of.get(key), Value::as_str)
    }
}

impl Field<i64> {
    /// The whole number under `key`, also one that is written as `3.0`; absent where its parent is. What is beyond
    /// an `i64` becomes the nearest one.
    pub fn integer_in(of: Option<&Map<String, Value>>, key: &str) -> Self {
        Self::read(of.and_then(|parent| parent.get(key)), whole)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "what is too large becomes the nearest number"
)]
fn whole(value: &Value) -> Option<i64> {
    let number = value.as_number()?;
    if number.is_u64() {
        return Some(number.as_i64().unwrap_or(i64::MAX));
    }
    let float = || number.as_f64().filter(|value| value.fract() == 0.0);
    number.as_i64().or_else(|| float().map(|value| value as i64))
}

impl<'v> Field<&'v Map<String, Value>> {
    /// The object or map under `key`; absent where its parent is.
    pub fn map_in(of: Option<&'v Map<String, Value>>, key: &str) -> Self {
        Self::read(of.and_then(|parent| parent.get(key)), Value::as_object)
    }
}

impl<'v> Field<&'v [Value]> {
    /// The list under `key`.
    pub fn list(of: &'v Map<String, Value>, key: &str) -> Self {
        Self::list_in(Some(of), key)
    }

    /// The list under `key`; absent where its parent is.
    pub fn list_in(of: Option<&'v Map<String, Value>>, key: &str) -> Self {
        Self::read(of.and_then(|parent| parent.get(key)), |value| {
            value.as_array().map(Vec::as_slice)
        })
    }
}

/// The object under a key; none if something else stands there.
pub(super) fn child<'a>(of: Option<&'a Map<String, Value>>, key: &str) -> Option<&'a Map<String, Value>> {
    of?.get(key)?.as_object()
}

/// The elements of a list that are objects, each with its place.
pub(super) fn objects(list: &[Value]) -> impl Iterator<Item = (usize, &Map<String, Value>)> {
    list.iter()
        .enumerate()
        .filter_map(|(index, element)| Some((index, element.as_object()?)))
}
