//! From watches to the index: one follower for each kind of object.

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use k8s_openapi::api::core::v1::ConfigMap;
use poolgate_core::nodelimit::ledger::Moment;
use serde::de::DeserializeOwned;

use super::index::Index;
use super::watched_state::{Watched, WatchedState};
use crate::cluster::objects::{ClaimObject, Definition, Key, NodeObject, PodObject, PoolObject};
use crate::cluster::{Follower, Versioned};

/// How the index takes the objects of one kind.
pub struct Kind<O, K> {
    /// The watch that delivers them.
    pub watched: Watched,
    /// What identifies an object.
    key: fn(&O) -> K,
    /// A list is about to begin. Returns the known objects: those missing from the list are gone.
    list_begins: fn(&mut Index) -> BTreeSet<K>,
    /// An object is new or has changed, at this time; whether the watch was complete until then, so that it has just changed.
    put: fn(&mut Index, O, Moment, bool),
    /// An object is gone, at this time.
    remove: fn(&mut Index, &K, Moment),
}

/// The definition of NodePools.
pub const DEFINITION: Kind<Definition, ()> = Kind {
    watched: Watched::Definition,
    key: |_| (),
    list_begins: |_| BTreeSet::new(),
    put: |index, definition, now, _| index.put_definition(definition, now),
    remove: |index, (), now| index.remove_definition(now),
};

/// `NodePools`.
pub const POOLS: Kind<PoolObject, Arc<str>> = Kind {
    watched: Watched::Pools,
    key: |pool| (*pool.metadata.name).into(),
    list_begins: |index| index.pools().cloned().collect(),
    put: |index, pool, _, _| index.put_pool(&pool),
    remove: |index, name, _| index.remove_pool(name),
};

/// `NodeClaims`.
pub const CLAIMS: Kind<ClaimObject, Arc<str>> = Kind {
    watched: Watched::Claims,
    key: |claim| (*claim.metadata.uid).into(),
    list_begins: |index| index.claims().cloned().collect(),
    put: |index, claim, now, _| index.put_claim(claim, now),
    remove: |index, uid, _| index.remove_claim(uid),
};

/// Nodes.
pub const NODES: Kind<NodeObject, Arc<str>> = Kind {
    watched: Watched::Nodes,
    key: |node| (*node.metadata.name).into(),
    list_begins: |index| {
        index.keep_selected_labels();
        index.nodes().cloned().collect()
    },
    put: |index, node, _, _| index.put_node(node),
    remove: |index, name, _| index.remove_node(name),
};

/// Pods.
pub const PODS: Kind<PodObject, Key> = Kind {
    watched: Watched::Pods,
    key: PodObject::key,
    list_begins: |index| index.pods().collect(),
    put: |index, pod, _, _| index.put_pod(pod),
    remove: |index, key, _| index.remove_pod(*key),
};

/// The ledgers.
pub const LEDGERS: Kind<ConfigMap, Box<str>> = Kind {
    watched: Watched::Ledgers,
    key: |ledger| ledger.metadata.name.as_deref().unwrap_or_default().into(),
    list_begins: |index| index.ledgers().cloned().collect(),
    put: |index, ledger, now, is_news| index.put_ledger(&ledger, is_news.then_some(now)),
    remove: |index, name, _| index.remove_ledger(name),
};

/// Puts the objects of one kind into the index.
pub struct KindFollower<O, K> {
    kind: Kind<O, K>,
    seen: WatchedState,
    /// Objects that were known when the list began and have not been listed yet.
    unlisted: BTreeSet<K>,
}

impl<O, K> KindFollower<O, K> {
    pub fn new(kind: Kind<O, K>, seen: &WatchedState) -> Self {
        Self {
            kind,
            seen: seen.clone(),
            unlisted: BTreeSet::new(),
        }
    }

    fn remove(&self, key: &K) {
        let now = self.seen.now();
        self.seen.change(|index| (self.kind.remove)(index, key, now));
    }
}

impl<O: Versioned + DeserializeOwned + Clone + Send + 'static, K: Ord> Follower for KindFollower<O, K> {
    type Object = O;

    fn list_begins(&mut self) {
        self.unlisted = self.seen.change(self.kind.list_begins);
    }

    fn listed(&mut self, object: O) {
        self.unlisted.remove(&(self.kind.key)(&object));
        self.changed(object);
    }

    fn list_ends(&mut self) {
        for gone in std::mem::take(&mut self.unlisted) {
            self.remove(&gone);
        }
        self.seen.complete(self.kind.watched);
    }

    fn changed(&mut self, object: O) {
        let (now, is_news) = (self.seen.now(), self.seen.is_up(self.kind.watched));
        self.seen
            .change(|index| (self.kind.put)(index, object, now, is_news));
    }

    fn gone(&mut self, object: &O) {
        self.remove(&(self.kind.key)(object));
    }

    fn lost(&mut self) {
        self.seen.lost(self.kind.watched);
    }

    fn wants_list(&self) -> BoxFuture<'static, ()> {
        let seen = self.seen.clone();
        match self.kind.watched {
            Watched::Nodes => Box::pin(async move { seen.wants_nodes_again().await }),
            _ => Box::pin(pending()),
        }
    }
}

#[cfg(test)]
mod tests;
