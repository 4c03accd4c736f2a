//! A field as it was found.

use crate::json::{Json, Object, whole_number};
use serde_json::Number;

/// A field of an object that may be missing, of the wrong JSON type, or too long. An explicit `null` counts as missing,
/// because the API server prunes it before any other check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<T> {
    /// The object does not have the field, or has an explicit `null` there.
    Absent,
    /// Present, but not of the type that the API requires; the shape check reports it.
    Mistyped,
    /// A list with more entries than are read, which its count rule reports; see [`door`](super::door).
    Beyond,
    /// Present, and of the right type.
    Present(T),
}

impl<T> Field<T> {
    /// The value, if there is one of the right type.
    pub fn present(self) -> Option<T> {
        match self {
            Self::Present(value) => Some(value),
            Self::Absent | Self::Mistyped | Self::Beyond => None,
        }
    }

    /// Whether the field is missing.
    pub const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// Whether it is a list with more entries than are read.
    pub(crate) const fn is_beyond(&self) -> bool {
        matches!(self, Self::Beyond)
    }

    /// The same field with its value converted.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Field<U> {
        match self {
            Self::Absent => Field::Absent,
            Self::Mistyped => Field::Mistyped,
            Self::Beyond => Field::Beyond,
            Self::Present(value) => Field::Present(convert(value)),
        }
    }

    /// The value by reference.
    pub const fn as_ref(&self) -> Field<&T> {
        match self {
            Self::Absent => Field::Absent,
            Self::Mistyped => Field::Mistyped,
            Self::Beyond => Field::Beyond,
            Self::Present(value) => Field::Present(value),
        }
    }

    fn read<'v>(
        of: Option<&'v Object<'v>>,
        key: &str,
        convert: impl FnOnce(&'v Json<'v>) -> Option<T>,
    ) -> Self {
        match of.and_then(|parent| parent.get(key)) {
            None | Some(Json::Null) => Self::Absent,
            Some(value) => convert(value).map_or(Self::Mistyped, Self::Present),
        }
    }
}

impl<'v> Field<&'v str> {
    /// The text under `key`; absent if its parent is.
    pub fn text(of: impl Into<Option<&'v Object<'v>>>, key: &str) -> Self {
        Self::read(of.into(), key, Json::as_str)
    }
}

impl<'v> Field<&'v Number> {
    /// The number under `key`.
    pub fn number(of: &'v Object<'v>, key: &str) -> Self {
        Self::read(Some(of), key, Json::as_number)
    }
}

impl Field<i64> {
    /// The whole number under `key`, even if written as `3.0`; absent if its parent is.
    pub(crate) fn integer_in(of: Option<&Object<'_>>, key: &str) -> Self {
        Self::read(of, key, |value| value.as_number().and_then(whole_number))
    }
}

impl<'v> Field<&'v Object<'v>> {
    /// The object or map under `key`; absent if its parent is.
    pub(crate) fn map_in(of: Option<&'v Object<'v>>, key: &str) -> Self {
        Self::read(of, key, Json::as_object)
    }
}

impl<'v> Field<&'v [Json<'v>]> {
    /// The list under `key`; absent if its parent is.
    pub fn list(of: impl Into<Option<&'v Object<'v>>>, key: &str) -> Self {
        Self::read(of.into(), key, Json::as_array)
    }

    /// The elements of the list that are objects, each viewed with its index.
    pub(crate) fn views<T>(self, mut view: impl FnMut(usize, &'v Object<'v>) -> T) -> Field<Vec<T>> {
        self.map(|list| {
            let elements = list.iter().enumerate();
            elements
                .filter_map(|(index, element)| Some(view(index, element.as_object()?)))
                .collect()
        })
    }
}

/// The object under a key; `None` if something else is there.
pub fn child<'a>(of: Option<&'a Object<'a>>, key: &str) -> Option<&'a Object<'a>> {
    of?.get(key)?.as_object()
}
