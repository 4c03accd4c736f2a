//! The stored object that an update replaces: all of it, or only the part that is always read.

use std::borrow::Cow;

use crate::json::Json;

/// The stored object that an update replaces.
#[derive(Debug, Clone, Copy)]
pub enum Stored<'a> {
    /// The whole object.
    Whole(&'a Json<'a>),
    /// The part of it that is always read, and how to read the rest, which only a new object with an error is compared with.
    Outlined {
        /// That part.
        outline: &'a Json<'a>,
        /// A text that holds the whole object.
        text: &'a [u8],
        /// Reads the whole object from the text. `None` if it cannot: what the outline leaves out may be nested too
        /// deep, or hold a number out of range.
        read: fn(&[u8]) -> Option<Json<'_>>,
    },
}

impl<'a> Stored<'a> {
    /// As much of it as its view needs.
    pub(crate) const fn outline(self) -> &'a Json<'a> {
        match self {
            Self::Whole(object) | Self::Outlined { outline: object, .. } => object,
        }
    }

    /// All of it; `None` if it cannot be read. Takes the time of reading it.
    pub(crate) fn whole(self) -> Option<Cow<'a, Json<'a>>> {
        match self {
            Self::Whole(object) => Some(Cow::Borrowed(object)),
            Self::Outlined { text, read, .. } => read(text).map(Cow::Owned),
        }
    }
}
