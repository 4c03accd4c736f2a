//! The NodePools of the cluster, as far as a scale request or a node limit depends on them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

/// The kept part of one NodePool.
#[derive(Debug, Clone, PartialEq)]
pub struct CachedPool {
    /// Its uid.
    pub uid: Box<str>,
    /// Its resourceVersion.
    pub version: u64,
    /// As much of its JSON as is needed; none if it is dynamic and has no node limit.
    pub object: Option<Arc<Value>>,
}

impl CachedPool {
    /// Whether it has `spec.replicas`, and all that the review of a scale request needs.
    fn is_static(&self) -> bool {
        let object = self.object.as_ref();
        object.is_some_and(|object| {
            object.pointer("/spec/replicas").is_some() && object.pointer("/metadata/name").is_some()
        })
    }
}

/// NodePools by name, and how many of them are static.
#[derive(Debug, Default)]
pub struct Pools {
    by_name: BTreeMap<Box<str>, CachedPool>,
    statics: usize,
}

impl Pools {
    /// The pool of that name.
    pub fn get(&self, name: &str) -> Option<&CachedPool> {
        self.by_name.get(name)
    }

    /// The static pool of that name.
    pub fn get_static(&self, name: &str) -> Option<&Value> {
        let pool = self.get(name).filter(|pool| pool.is_static())?;
        pool.object.as_deref()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// How many are static.
    pub fn statics(&self) -> usize {
        self.statics
    }

    /// Adds a pool, in place of the one with the same name.
    pub fn insert(&mut self, name: Box<str>, pool: CachedPool) {
        self.statics += usize::from(pool.is_static());
        if let Some(before) = self.by_name.insert(name, pool) {
            self.statics -= usize::from(before.is_static());
        }
    }

    /// Removes a pool.
    pub fn remove(&mut self, name: &str) {
        if let Some(before) = self.by_name.remove(name) {
            self.statics -= usize::from(before.is_static());
        }
    }
}
