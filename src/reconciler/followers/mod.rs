//! From watches to the index: one follower for each kind of object.

mod kinds;

use std::collections::HashSet;

use futures_util::future::LocalBoxFuture;

use super::seen::{Seen, Watched};
use crate::cluster::{Follower, Versioned};

pub(super) use kinds::{Claims, Definitions, Ledgers, Nodes, Pods, Pools};

/// What is done with objects of one kind.
pub(super) trait Kind {
    /// The objects as they come.
    type Object: Versioned + Clone + serde::de::DeserializeOwned + std::fmt::Debug;
    /// Which watch brings them.
    const WATCHED: Watched;
    /// What tells them apart.
    fn key(object: &Self::Object) -> Box<str>;
    /// A list is about to begin.
    fn begin(&mut self, _: &Seen) {}
    /// Waits until there is reason to list them again.
    fn wants_list(_: &Seen) -> LocalBoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
    /// One is new or has changed.
    fn put(&mut self, seen: &Seen, object: Self::Object);
    /// One is gone.
    fn remove(&mut self, seen: &Seen, key: &str);
    /// All but these are gone.
    fn keep(&mut self, seen: &Seen, listed: HashSet<Box<str>>);
}

/// Follows objects of one kind.
pub(super) struct KindFollower<K> {
    seen: Seen,
    kind: K,
    listed: HashSet<Box<str>>,
}

impl<K: Kind> KindFollower<K> {
    pub(super) fn new(seen: &Seen, kind: K) -> Self {
        Self {
            seen: seen.clone(),
            kind,
            listed: HashSet::new(),
        }
    }
}

impl<K: Kind> Follower for KindFollower<K> {
    type Object = K::Object;

    fn list_begins(&mut self) {
        self.listed.clear();
        self.kind.begin(&self.seen);
    }

    fn listed(&mut self, object: K::Object) {
        self.listed.insert(K::key(&object));
        self.kind.put(&self.seen, object);
    }

    fn list_ends(&mut self) {
        let listed = std::mem::take(&mut self.listed);
        self.kind.keep(&self.seen, listed);
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
