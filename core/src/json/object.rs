//! The entries of an object, sorted by key.

use std::borrow::Cow;

use super::Json;

/// Up to this number of entries, objects are searched one by one.
const FEW: usize = 8;

type Entry<'a> = (Cow<'a, str>, Json<'a>);

/// An object: its entries in the order of their keys, each key once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Object<'a>(Vec<Entry<'a>>);

/// Keys and values, in the order of the keys.
pub type Entries<'o, 'a> =
    std::iter::Map<std::slice::Iter<'o, Entry<'a>>, fn(&'o Entry<'a>) -> (&'o str, &'o Json<'a>)>;

impl<'a> Object<'a> {
    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&Json<'a>> {
        self.entry(key).map(|(_, value)| value)
    }

    /// The entry with a key.
    pub(crate) fn entry(&self, key: &str) -> Option<(&str, &Json<'a>)> {
        if self.0.len() <= FEW {
            return self.iter().find(|(name, _)| *name == key);
        }
        let index = self.0.binary_search_by(|(name, _)| name.as_ref().cmp(key)).ok()?;
        self.0.get(index).map(|(name, value)| (name.as_ref(), value))
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Json<'a>> {
        let entry = self.0.iter_mut().find(|(name, _)| name == key)?;
        Some(&mut entry.1)
    }

    /// Renames a key and returns whether it could: not if the key is missing, nor if the new one exists.
    pub fn rename(&mut self, key: &str, other: impl Into<Cow<'a, str>>) -> bool {
        let other = other.into();
        let Some(at) = self.0.iter().position(|(name, _)| name == key) else {
            return false;
        };
        if self.contains_key(&other) {
            return false;
        }
        let (_, value) = self.0.remove(at);
        let to = self.0.partition_point(|(name, _)| *name < other);
        self.0.insert(to, (other, value));
        true
    }

    /// Removes a key, and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Json<'a>> {
        let at = self.0.iter().position(|(name, _)| name == key)?;
        Some(self.0.remove(at).1)
    }

    /// Puts the entries of an object in the place of the key whose value it is, and returns whether it could: not if the
    /// value is not an object, nor if one of its keys exists.
    pub fn unwrap_entry(&mut self, key: &str) -> bool {
        let Some(Json::Object(inner)) = self.get(key) else {
            return false;
        };
        if inner.keys().any(|name| name == key || self.contains_key(name)) {
            return false;
        }
        if let Some(Json::Object(inner)) = self.remove(key) {
            let all = std::mem::take(&mut self.0).into_iter().chain(inner.0);
            *self = all.collect();
        }
        true
    }

    pub(crate) fn into_owned(self) -> Object<'static> {
        let owned = |(key, value): Entry<'a>| (Cow::Owned(key.into_owned()), value.into_owned());
        Object(self.0.into_iter().map(owned).collect())
    }

    /// Whether the key exists, whatever its value.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Keys and values, in the order of the keys.
    pub fn iter(&self) -> Entries<'_, 'a> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(key, _)| key)
    }

    /// The values, in the order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &Json<'a>> {
        self.iter().map(|(_, value)| value)
    }

    /// How many entries there are.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no entry.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'o, 'a> IntoIterator for &'o Object<'a> {
    type Item = (&'o str, &'o Json<'a>);
    type IntoIter = Entries<'o, 'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// If a key occurs twice, its last value counts, as in Go.
impl<'a> FromIterator<Entry<'a>> for Object<'a> {
    fn from_iter<I: IntoIterator<Item = Entry<'a>>>(entries: I) -> Self {
        let mut entries: Vec<_> = entries.into_iter().collect();
        if !entries.is_sorted_by(|(one, _), (next, _)| one < next) {
            entries.sort_by(|(one, _), (other, _)| one.cmp(other));
            entries.dedup_by(|later, earlier| {
                let is_same = later.0 == earlier.0;
                if is_same {
                    std::mem::swap(later, earlier);
                }
                is_same
            });
        }
        Self(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(entries: &[(&'static str, i64)]) -> Object<'static> {
        let entry = |(key, number): &(&'static str, i64)| (Cow::Borrowed(*key), Json::from(*number));
        entries.iter().map(entry).collect()
    }

    #[test]
    fn the_last_value_of_a_key_counts() {
        let read = object(&[("b", 1), ("a", 2), ("b", 3), ("b", 4)]);
        assert_eq!(read, object(&[("a", 2), ("b", 4)]));
        assert_eq!(read.len(), 2);
    }

    #[test]
    fn renamed_keys_are_in_order() {
        let mut renamed = object(&[("a", 1), ("b", 2), ("c", 3)]);
        assert!(renamed.rename("a", "d"));
        assert_eq!(renamed, object(&[("b", 2), ("c", 3), ("d", 1)]));
        for (key, other) in [("a", "e"), ("b", "c")] {
            assert!(!renamed.rename(key, other), "{key}");
        }
        assert_eq!(renamed.len(), 3);
    }

    #[test]
    fn every_key_is_found_in_objects_of_any_size() {
        let keys: Vec<String> = (0..100).map(|number| format!("k{number}")).collect();
        for size in [0, 1, FEW, FEW + 1, 100] {
            let made: Object<'_> = keys[..size]
                .iter()
                .map(|key| (Cow::Borrowed(key.as_str()), Json::from(key.as_str())))
                .collect();
            for (number, key) in keys.iter().enumerate() {
                let found = made.get(key).and_then(Json::as_str);
                assert_eq!(found, (number < size).then_some(key.as_str()));
            }
        }
    }
}
