//! A map for mostly few entries: hashing a short key costs as much as comparing it with sixty others, most of which
//! differ in length or in the first bytes.

use std::collections::HashMap;
use std::hash::Hash;

/// Up to this number of entries, the map is searched one by one.
const FEW: usize = 64;

/// Entries in the order in which their keys were first inserted. A key is found in constant time, however many
/// there are.
#[derive(Debug)]
pub(crate) struct FewMap<K, V> {
    entries: Vec<(K, V)>,
    /// The indices of the entries; empty while they are few.
    places: HashMap<K, usize>,
}

impl<K: Clone + Eq + Hash, V> FewMap<K, V> {
    /// The value of a key; `None` if the key is missing.
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        let place = self.place(key)?;
        self.entries.get(place).map(|(_, value)| value)
    }

    /// Inserts an entry. If the key exists already, nothing changes, and its value is returned.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<&mut V> {
        if let Some(place) = self.place(&key) {
            return self.entries.get_mut(place).map(|(_, value)| value);
        }
        self.push(key, value);
        None
    }

    /// Inserts an entry. If the key exists already, its value is replaced, and the former one is returned.
    pub(crate) fn replace(&mut self, key: K, value: V) -> Option<V> {
        if let Some((_, replaced)) = self.place(&key).and_then(|place| self.entries.get_mut(place)) {
            return Some(std::mem::replace(replaced, value));
        }
        self.push(key, value);
        None
    }

    /// Inserts an entry with a new key.
    fn push(&mut self, key: K, value: V) {
        if !self.places.is_empty() {
            self.places.insert(key.clone(), self.entries.len());
        }
        self.entries.push((key, value));
        if self.places.is_empty() && self.entries.len() > FEW {
            self.places = (0..)
                .zip(&self.entries)
                .map(|(place, (key, _))| (key.clone(), place))
                .collect();
        }
    }

    /// The entries, in the order of their keys.
    pub(crate) fn into_entries(self) -> Vec<(K, V)> {
        self.entries
    }

    /// The keys, in their order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.entries.iter().map(|(key, _)| key)
    }

    /// The values, in the order of their keys.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.iter().map(|(_, value)| value)
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    fn place(&self, key: &K) -> Option<usize> {
        if self.places.is_empty() {
            return self.entries.iter().position(|(name, _)| name == key);
        }
        self.places.get(key).copied()
    }
}

impl<K, V> Default for FewMap<K, V> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            places: HashMap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_found_with_its_first_value_however_many_there_are() {
        for size in [0, 1, FEW, FEW + 1, 1000] {
            let mut map = FewMap::default();
            for number in 0..size {
                assert_eq!(map.insert(number, number * 2), None);
                assert_eq!(map.insert(number, 0), Some(&mut (number * 2)));
            }
            assert_eq!(map.len(), size);
            assert!(map.values().copied().eq((0..size).map(|number| number * 2)));
            for number in 0..size {
                assert_eq!(map.get(&number), Some(&(number * 2)));
                assert_eq!(map.replace(number, number * 3), Some(number * 2));
                assert_eq!(map.get(&number), Some(&(number * 3)));
            }
            assert_eq!(map.get(&size), None);
            assert_eq!(map.replace(size, 0), None);
            assert_eq!(map.get(&size), Some(&0));
            assert!(map.keys().copied().eq(0..=size));
        }
    }
}
