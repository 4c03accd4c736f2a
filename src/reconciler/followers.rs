//! From watches to the index: one follower for each kind of object.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hash;

use futures_util::future::LocalBoxFuture;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::DynamicObject;
use poolgate_core::nodelimit::plan::Needs;

use super::objects::{ClaimObject, Interned, NodeObject, PodObject, PoolObject};
use super::seen::{Seen, Watched};
use crate::cluster::{Follower, Versioned, read_ledger};

/// The definition of NodePools: how it reads is not asked, only whether it changes.
pub(super) struct DefinitionFollower {
    pub(super) seen: Seen,
    /// Which definition is known, and which version of what it says.
    pub(super) known: Option<(String, i64)>,
}

impl Follower for DefinitionFollower {
    type Object = DynamicObject;

    fn list_begins(&mut self) {}

    fn listed(&mut self, definition: DynamicObject) {
        self.changed(definition);
    }

    fn list_ends(&mut self) {
        self.seen.complete(Watched::Definition);
    }

    fn changed(&mut self, definition: DynamicObject) {
        let metadata = definition.metadata;
        let known = metadata.uid.zip(metadata.generation);
        if self.known != known {
            self.known = known;
            self.seen.redefined();
        }
    }

    fn gone(&mut self, _: &DynamicObject) {
        self.known = None;
        self.seen.redefined();
    }

    fn lost(&mut self) {
        self.seen.lost(Watched::Definition);
    }
}

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
    /// Waits until there is reason to list them anew.
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

/// `NodePools`.
#[derive(Default)]
pub(super) struct Pools;

impl Kind for Pools {
    type Object = PoolObject;
    const WATCHED: Watched = Watched::Pools;

    fn key(object: &PoolObject) -> Box<str> {
        object.name().into()
    }

    fn put(&mut self, seen: &Seen, object: PoolObject) {
        seen.change(|index| index.put_pool(object));
    }

    fn remove(&mut self, seen: &Seen, name: &str) {
        seen.change(|index| index.remove_pool(name));
    }

    fn keep(&mut self, seen: &Seen, listed: HashSet<Box<str>>) {
        seen.change(|index| index.keep_pools(&ordered(listed)));
    }
}

/// `NodeClaims`.
#[derive(Default)]
pub(super) struct Claims {
    names: Interned<str>,
}

impl Kind for Claims {
    type Object = ClaimObject;
    const WATCHED: Watched = Watched::Claims;

    fn key(object: &ClaimObject) -> Box<str> {
        object.uid().into()
    }

    fn put(&mut self, seen: &Seen, object: ClaimObject) {
        let uid = Self::key(&object);
        match object.seen(&mut self.names) {
            Some(claim) => seen.change(|index| index.put_claim(claim)),
            None => self.remove(seen, &uid),
        }
    }

    fn remove(&mut self, seen: &Seen, uid: &str) {
        seen.change(|index| index.remove_claim(uid));
    }

    fn keep(&mut self, seen: &Seen, listed: HashSet<Box<str>>) {
        seen.change(|index| index.keep_claims(&listed));
    }
}

/// Nodes.
#[derive(Default)]
pub(super) struct Nodes {
    names: Interned<str>,
    labels: BTreeSet<Box<str>>,
}

impl Kind for Nodes {
    type Object = NodeObject;
    const WATCHED: Watched = Watched::Nodes;

    fn key(object: &NodeObject) -> Box<str> {
        object.name().into()
    }

    fn begin(&mut self, seen: &Seen) {
        self.labels = seen.change(super::index::Index::selected_labels);
    }

    fn wants_list(seen: &Seen) -> LocalBoxFuture<'static, ()> {
        let wanted = seen.relist_nodes();
        Box::pin(async move { wanted.notified().await })
    }

    fn put(&mut self, seen: &Seen, object: NodeObject) {
        let name = Self::key(&object);
        match object.seen(&mut self.names, &self.labels) {
            Some(node) => seen.change(|index| index.put_node(node)),
            None => self.remove(seen, &name),
        }
    }

    fn remove(&mut self, seen: &Seen, name: &str) {
        seen.change(|index| index.remove_node(name));
    }

    fn keep(&mut self, seen: &Seen, listed: HashSet<Box<str>>) {
        seen.change(|index| index.keep_nodes(&listed));
    }
}

/// Pods.
#[derive(Default)]
pub(super) struct Pods {
    names: Interned<str>,
    needs: Interned<Needs>,
}

impl Kind for Pods {
    type Object = PodObject;
    const WATCHED: Watched = Watched::Pods;

    fn key(object: &PodObject) -> Box<str> {
        object.uid().into()
    }

    fn put(&mut self, seen: &Seen, object: PodObject) {
        let uid = Self::key(&object);
        match object.seen(&mut self.names, &mut self.needs) {
            Some(pod) => seen.change(|index| index.put_pod(pod)),
            None => self.remove(seen, &uid),
        }
    }

    fn remove(&mut self, seen: &Seen, uid: &str) {
        seen.change(|index| index.remove_pod(uid));
    }

    fn keep(&mut self, seen: &Seen, listed: HashSet<Box<str>>) {
        seen.change(|index| index.keep_pods(&listed));
    }
}

/// The ledgers. One that cannot be read says nothing, and so nothing is terminated on its word.
#[derive(Default)]
pub(super) struct Ledgers {
    /// The pools of ledgers, by the names of the objects.
    pools: HashMap<Box<str>, Box<str>>,
    /// What was told of one that cannot be read.
    told: HashMap<Box<str>, String>,
}

impl Kind for Ledgers {
    type Object = ConfigMap;
    const WATCHED: Watched = Watched::Ledgers;

    fn key(object: &ConfigMap) -> Box<str> {
        object.metadata.name.as_deref().unwrap_or_default().into()
    }

    fn put(&mut self, seen: &Seen, object: ConfigMap) {
        let name = Self::key(&object);
        match read_ledger(&object) {
            Ok((pool, ledger)) => {
                self.told.remove(&name);
                self.pools.insert(name, pool.clone());
                seen.change(|index| index.put_ledger(&pool, ledger));
            }
            Err(error) => {
                let text = error.to_string();
                if self.told.get(&name) != Some(&text) {
                    tracing::warn!(%error, "a ledger cannot be read");
                    self.told.insert(name.clone(), text);
                }
                self.remove(seen, &name);
            }
        }
    }

    fn remove(&mut self, seen: &Seen, name: &str) {
        if let Some(pool) = self.pools.remove(name) {
            seen.change(|index| index.remove_ledger(&pool));
        }
    }

    fn keep(&mut self, seen: &Seen, listed: HashSet<Box<str>>) {
        self.told.retain(|name, _| listed.contains(name));
        let gone: Vec<_> = self
            .pools
            .keys()
            .filter(|name| !listed.contains(*name))
            .cloned()
            .collect();
        for name in gone {
            self.remove(seen, &name);
        }
    }
}

fn ordered<T: Ord + Eq + Hash>(set: HashSet<T>) -> BTreeSet<T> {
    set.into_iter().collect()
}
