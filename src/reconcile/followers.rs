//! From watches to the index: how it takes each kind of objects.

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use k8s_openapi::api::core::v1::ConfigMap;
use poolgate_core::api::LEDGER_LABEL;
use poolgate_core::facts::NODEPOOL_LABEL;
use poolgate_core::nodelimit::ledger::Moment;
use serde::de::DeserializeOwned;

use super::index::Index;
use super::watched_state::WatchedState;
use crate::cluster::objects::{ClaimObject, Definition, Key, NodeObject, PodObject, PoolObject};
use crate::cluster::{DEFINITION_FIELDS, Follower, Versioned};

/// Objects of a kind that the index keeps.
pub trait Indexed: Versioned + DeserializeOwned + Clone + Send + 'static {
    /// The identity of an object.
    type Key: Ord + Send;

    /// The name of their watch, one of [`WATCHES`](super::watched_state::WATCHES).
    const WATCH: &'static str;
    /// The selectors of the watch.
    const FIELDS: Option<&'static str> = None;
    const LABELS: Option<&'static str> = None;

    fn key(&self) -> Self::Key;
    /// A list is about to begin. Returns the known objects: those missing from the list are gone.
    fn list_begins(index: &mut Index) -> BTreeSet<Self::Key>;
    /// An object is new or has changed. `is_news`: the watch was complete until now, so that it has just changed.
    fn put(self, index: &mut Index, now: Moment, is_news: bool);
    /// An object is gone.
    fn remove(index: &mut Index, key: &Self::Key, now: Moment);
    /// Waits until all must be listed again, although nothing is wrong.
    fn wants_list(_seen: WatchedState) -> BoxFuture<'static, ()> {
        Box::pin(pending())
    }
}

impl Indexed for Definition {
    type Key = ();
    const WATCH: &'static str = "definition";
    const FIELDS: Option<&'static str> = Some(DEFINITION_FIELDS);

    fn key(&self) {}

    fn list_begins(_: &mut Index) -> BTreeSet<()> {
        BTreeSet::new()
    }

    fn put(self, index: &mut Index, now: Moment, _: bool) {
        index.put_definition(self, now);
    }

    fn remove(index: &mut Index, (): &(), now: Moment) {
        index.remove_definition(now);
    }
}

impl Indexed for PoolObject {
    type Key = Arc<str>;
    const WATCH: &'static str = "nodepools";

    fn key(&self) -> Arc<str> {
        (*self.metadata.name).into()
    }

    fn list_begins(index: &mut Index) -> BTreeSet<Arc<str>> {
        index.pools().cloned().collect()
    }

    fn put(self, index: &mut Index, _: Moment, _: bool) {
        index.put_pool(&self);
    }

    fn remove(index: &mut Index, name: &Arc<str>, _: Moment) {
        index.remove_pool(name);
    }
}

impl Indexed for ClaimObject {
    type Key = Arc<str>;
    const WATCH: &'static str = "nodeclaims";

    fn key(&self) -> Arc<str> {
        (*self.metadata.uid).into()
    }

    fn list_begins(index: &mut Index) -> BTreeSet<Arc<str>> {
        index.claims().cloned().collect()
    }

    fn put(self, index: &mut Index, now: Moment, _: bool) {
        index.put_claim(self, now);
    }

    fn remove(index: &mut Index, uid: &Arc<str>, _: Moment) {
        index.remove_claim(uid);
    }
}

impl Indexed for NodeObject {
    type Key = Arc<str>;
    const WATCH: &'static str = "nodes";
    const LABELS: Option<&'static str> = Some(NODEPOOL_LABEL);

    fn key(&self) -> Arc<str> {
        (*self.metadata.name).into()
    }

    fn list_begins(index: &mut Index) -> BTreeSet<Arc<str>> {
        index.keep_selected_labels();
        index.nodes().cloned().collect()
    }

    fn put(self, index: &mut Index, _: Moment, _: bool) {
        index.put_node(self);
    }

    fn remove(index: &mut Index, name: &Arc<str>, _: Moment) {
        index.remove_node(name);
    }

    /// Pods select nodes by a label that was not kept.
    fn wants_list(seen: WatchedState) -> BoxFuture<'static, ()> {
        Box::pin(async move { seen.wants_nodes_again().await })
    }
}

impl Indexed for PodObject {
    type Key = Key;
    const WATCH: &'static str = "pods";

    fn key(&self) -> Key {
        Key::of(&self.metadata.uid)
    }

    fn list_begins(index: &mut Index) -> BTreeSet<Key> {
        index.pods().collect()
    }

    fn put(self, index: &mut Index, _: Moment, _: bool) {
        index.put_pod(self);
    }

    fn remove(index: &mut Index, key: &Key, _: Moment) {
        index.remove_pod(*key);
    }
}

/// The ledgers.
impl Indexed for ConfigMap {
    type Key = Box<str>;
    const WATCH: &'static str = "ledgers";
    const LABELS: Option<&'static str> = Some(LEDGER_LABEL);

    fn key(&self) -> Box<str> {
        self.metadata.name.as_deref().unwrap_or_default().into()
    }

    fn list_begins(index: &mut Index) -> BTreeSet<Box<str>> {
        index.ledgers().cloned().collect()
    }

    fn put(self, index: &mut Index, now: Moment, is_news: bool) {
        index.put_ledger(&self, is_news.then_some(now));
    }

    fn remove(index: &mut Index, name: &Box<str>, _: Moment) {
        index.remove_ledger(name);
    }
}

/// Puts the objects of one kind into the index.
pub struct IndexFollower<O: Indexed> {
    seen: WatchedState,
    /// Objects that were known when the list began and have not been listed yet.
    unlisted: BTreeSet<O::Key>,
}

impl<O: Indexed> IndexFollower<O> {
    pub fn new(seen: &WatchedState) -> Self {
        Self {
            seen: seen.clone(),
            unlisted: BTreeSet::new(),
        }
    }

    fn remove(&self, key: &O::Key) {
        let now = self.seen.now();
        self.seen.change(|index| O::remove(index, key, now));
    }
}

impl<O: Indexed> Follower for IndexFollower<O> {
    type Object = O;

    fn list_begins(&mut self) {
        self.unlisted = self.seen.change(O::list_begins);
    }

    fn listed(&mut self, object: O) {
        self.unlisted.remove(&object.key());
        self.changed(object);
    }

    fn list_ends(&mut self) {
        for gone in std::mem::take(&mut self.unlisted) {
            self.remove(&gone);
        }
        self.seen.complete(O::WATCH);
    }

    fn changed(&mut self, object: O) {
        let (now, is_news) = (self.seen.now(), self.seen.is_up(O::WATCH));
        self.seen.change(|index| object.put(index, now, is_news));
    }

    fn gone(&mut self, object: &O) {
        self.remove(&object.key());
    }

    fn lost(&mut self) {
        self.seen.lost(O::WATCH);
    }

    fn resumes(&self) -> bool {
        true
    }

    fn caught_up(&mut self) {
        self.seen.complete(O::WATCH);
    }

    fn wants_list(&self) -> BoxFuture<'static, ()> {
        O::wants_list(self.seen.clone())
    }
}

#[cfg(test)]
mod tests;
