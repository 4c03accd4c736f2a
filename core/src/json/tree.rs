//! What a field path can be followed through: an object under review, and one that is to be changed.

use serde_json::Value;

use super::Json;

/// A value with others below it.
pub trait Tree: Sized {
    /// What is under a key; none where this is no object.
    fn get(&self, key: &str) -> Option<&Self>;

    /// An element of a list, counted from 0; none where this is no list.
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
