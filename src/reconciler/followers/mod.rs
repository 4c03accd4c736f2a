//! From watches to the index: one follower for each kind of object.

mod kinds;

use std::collections::HashSet;
use std::hash::Hash;

use futures_util::future::LocalBoxFuture;

use super::watched_state::{Watched, WatchedState};
use crate::cluster::{Follower, Versioned};

pub use kinds::{Claims, Definitions, Ledgers, Nodes, Pods, Pools};

/// How objects of one kind are handled.
pub trait Kind: Default {
    /// The objects as the watch delivers them.
    type Object: Versioned + Clone + serde::de::DeserializeOwned + std::fmt::Debug;
    /// The watch that delivers them.
    const WATCHED: Watched;
    /// What identifies an object.
    type Key: Eq + Hash;
    /// The key of this object.
    fn key(object: &Self::Object) -> Self::Key;
    /// A list is about to begin. Returns the known objects: those missing from the list are gone.
    fn begin(&mut self, seen: &WatchedState) -> HashSet<Self::Key>;
    /// Waits until the objects must be listed again.
    fn wants_list(_: &WatchedState) -> LocalBoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
    /// An object is new or has changed.
    fn put(&mut self, seen: &WatchedState, object: Self::Object);
    /// An object is gone.
    fn remove(&mut self, seen: &WatchedState, key: &Self::Key);
}

/// Follows objects of one kind.
pub struct KindFollower<K: Kind> {
    seen: WatchedState,
    kind: K,
    /// Objects that were known when the list began and have not been listed yet.
    unlisted: HashSet<K::Key>,
}

impl<K: Kind> KindFollower<K> {
    pub fn new(seen: &WatchedState) -> Self {
        Self {
            seen: seen.clone(),
            kind: K::default(),
            unlisted: HashSet::new(),
        }
    }
}

impl<K: Kind> Follower for KindFollower<K> {
    type Object = K::Object;

    fn list_begins(&mut self) {
        self.unlisted = self.kind.begin(&self.seen);
    }

    fn listed(&mut self, object: K::Object) {
        self.unlisted.remove(&K::key(&object));
        self.kind.put(&self.seen, object);
    }

    fn list_ends(&mut self) {
        for gone in std::mem::take(&mut self.unlisted) {
            self.kind.remove(&self.seen, &gone);
        }
        self.seen.complete(K::WATCHED);
    }

    fn changed(&mut self, object: K::Object) {
        self.kind.put(&self.seen, object);
    }

    fn gone(&mut self, object: &K::Object) {
        self.kind.remove(&self.seen, &K::key(object));
    }

    fn lost(&mut self) {
        self.seen.lost(K::WATCHED);
    }

    fn wants_list(&self) -> LocalBoxFuture<'static, ()> {
        K::wants_list(&self.seen)
    }
}

#[cfg(test)]
mod tests;
