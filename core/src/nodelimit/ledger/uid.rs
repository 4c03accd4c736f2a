//! The identity of one object: its `metadata.uid`.

use std::borrow::Borrow;
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The longest UID that is accepted, in bytes. The API server's have 36; the bound keeps a ledger's size known.
pub(crate) const MAX_UID: usize = 64;

/// A `metadata.uid`: 1 to [`MAX_UID`] printable ASCII characters without spaces, quotes and backslashes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Box<str>")]
pub struct Uid(Box<str>);

/// Why a text is not a UID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum UnusableUid {
    /// The text is empty. At the mutating step of a creation the UID is not set yet.
    #[error("the uid is empty")]
    Empty,
    /// The text is longer than [`MAX_UID`].
    #[error("the uid is longer than {MAX_UID} bytes")]
    TooLong,
    /// A character that a UID cannot have.
    #[error("the uid contains {0:?}")]
    Character(char),
}

impl Uid {
    /// Checks that a text can be a UID.
    pub fn new(text: &str) -> Result<Self, UnusableUid> {
        if text.is_empty() {
            return Err(UnusableUid::Empty);
        }
        if text.len() > MAX_UID {
            return Err(UnusableUid::TooLong);
        }
        match text
            .chars()
            .find(|c| !c.is_ascii_graphic() || matches!(c, '"' | '\\'))
        {
            Some(c) => Err(UnusableUid::Character(c)),
            None => Ok(Self(text.into())),
        }
    }

    /// The text as the API server wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<Box<str>> for Uid {
    type Error = UnusableUid;

    fn try_from(text: Box<str>) -> Result<Self, UnusableUid> {
        Self::new(&text)
    }
}

impl Borrow<str> for Uid {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_api_server_makes_is_taken_and_what_could_break_a_ledger_is_not() {
        assert!(Uid::new("6f4e3c1e-8d8b-4a0e-9c36-0d5f6e1a2b3c").is_ok());
        assert!(Uid::new(&"u".repeat(MAX_UID)).is_ok());
        assert_eq!(Uid::new(""), Err(UnusableUid::Empty));
        assert_eq!(Uid::new(&"u".repeat(MAX_UID + 1)), Err(UnusableUid::TooLong));
        for (text, character) in [
            ("a b", ' '),
            ("a\"", '"'),
            ("a\\", '\\'),
            ("ü", 'ü'),
            ("a\n", '\n'),
        ] {
            assert_eq!(Uid::new(text), Err(UnusableUid::Character(character)));
        }
    }
}
