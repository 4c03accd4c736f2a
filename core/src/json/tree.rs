//! Values that a field path can be followed through: an object under review, and one to be changed.

use serde_json::Value;

use super::Json;

/// A value with others below it.
pub trait Tree: Sized {
    /// The value under a key; `None` if this is not an object.
    fn get(&self, key: &str) -> Option<&Self>;

    /// An element of a list, counted from 0; `None` if this is not a list.
    fn at(&self, index: usize) -> Option<&Self>;

    /// Whether it is `null`.
    fn is_null(&self) -> bool;
}

impl Tree for Json<'_> {
    fn get(&self, key: &str) -> Option<&Self> {
        self.get(key)
    }

    fn at(&self, index: usize) -> Option<&Self> {
        self.as_array()?.get(index)
    }

    fn is_null(&self) -> bool {
        self.is_null()
    }
}

impl Tree for Value {
    fn get(&self, key: &str) -> Option<&Self> {
        self.get(key)
    }

    fn at(&self, index: usize) -> Option<&Self> {
        self.get(index)
    }

    fn is_null(&self) -> bool {
        self.is_null()
    }
}
