//! How objects of each kind enter the index.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use k8s_openapi::api::core::v1::ConfigMap;

use super::Kind;
use crate::cluster::read_ledger;
use crate::objects::{Definition, PoolObject};
use crate::reconciler::index::Index;
use crate::reconciler::objects::{ClaimObject, Interned, Key, NodeKinds, NodeObject, PodKinds, PodObject};
use crate::reconciler::watched_state::{Watched, WatchedState};

/// The definition of NodePools: its content is not read, only whether it changes.
#[derive(Default)]
pub struct Definitions {
    /// The UID and generation of the known definition.
    known: Option<(Box<str>, Option<i64>)>,
}

impl Kind for Definitions {
    type Object = Definition;
    type Key = ();
    const WATCHED: Watched = Watched::Definition;

    fn key(_: &Definition) {}

    fn begin(&mut self, _: &WatchedState) -> HashSet<()> {
        HashSet::new()
    }

    fn put(&mut self, seen: &WatchedState, object: Definition) {
        let known = Some((object.metadata.uid, object.metadata.generation));
        if self.known != known {
            self.known = known;
            seen.redefined();
        }
    }

    fn remove(&mut self, seen: &WatchedState, (): &()) {
        self.known = None;
        seen.redefined();
    }
}

/// `NodePools`.
#[derive(Default)]
pub struct Pools;

impl Kind for Pools {
    type Object = PoolObject;
    type Key = Arc<str>;
    const WATCHED: Watched = Watched::Pools;

    fn key(object: &PoolObject) -> Arc<str> {
        (*object.metadata.name).into()
    }

    fn begin(&mut self, seen: &WatchedState) -> HashSet<Arc<str>> {
        seen.look(|index| index.pools().cloned().collect())
    }

    fn put(&mut self, seen: &WatchedState, object: PoolObject) {
        seen.change(|index| index.put_pool(&object));
    }

    fn remove(&mut self, seen: &WatchedState, name: &Arc<str>) {
        seen.change(|index| index.remove_pool(name));
    }
}

/// `NodeClaims`.
#[derive(Default)]
pub struct Claims {
    names: Interned<str>,
}

impl Kind for Claims {
    type Object = ClaimObject;
    type Key = Arc<str>;
    const WATCHED: Watched = Watched::Claims;

    fn key(object: &ClaimObject) -> Arc<str> {
        (*object.metadata.uid).into()
    }

    fn begin(&mut self, seen: &WatchedState) -> HashSet<Arc<str>> {
        seen.look(|index| index.claims().cloned().collect())
    }

    fn put(&mut self, seen: &WatchedState, object: ClaimObject) {
        let uid = Self::key(&object);
        match object.seen(&mut self.names) {
            Some(claim) => seen.change(|index| index.put_claim(claim, seen.now())),
            None => self.remove(seen, &uid),
        }
    }

    fn remove(&mut self, seen: &WatchedState, uid: &Arc<str>) {
        seen.change(|index| index.remove_claim(uid));
    }
}

/// Nodes.
#[derive(Default)]
pub struct Nodes {
    kinds: NodeKinds,
    labels: BTreeSet<Box<str>>,
}

impl Kind for Nodes {
    type Object = NodeObject;
    type Key = Arc<str>;
    const WATCHED: Watched = Watched::Nodes;

    fn key(object: &NodeObject) -> Arc<str> {
        (*object.metadata.name).into()
    }

    fn begin(&mut self, seen: &WatchedState) -> HashSet<Arc<str>> {
        self.labels = seen.change(Index::selected_labels);
        seen.look(|index| index.nodes().cloned().collect())
    }

    fn wants_list(seen: &WatchedState) -> LocalBoxFuture<'static, ()> {
        let seen = seen.clone();
        Box::pin(async move { seen.wants_nodes_again().await })
    }

    fn put(&mut self, seen: &WatchedState, object: NodeObject) {
        let name = Self::key(&object);
        match object.seen(&mut self.kinds, &self.labels) {
            Some(node) => seen.change(|index| index.put_node(node)),
            None => self.remove(seen, &name),
        }
    }

    fn remove(&mut self, seen: &WatchedState, name: &Arc<str>) {
        seen.change(|index| index.remove_node(name));
    }
}

/// Pods.
#[derive(Default)]
pub struct Pods {
    kinds: PodKinds,
}

impl Kind for Pods {
    type Object = PodObject;
    type Key = Key;
    const WATCHED: Watched = Watched::Pods;

    fn key(object: &PodObject) -> Key {
        Key::of(&object.metadata.uid)
    }

    fn begin(&mut self, seen: &WatchedState) -> HashSet<Key> {
        seen.look(|index| index.pods().collect())
    }

    fn put(&mut self, seen: &WatchedState, object: PodObject) {
        let key = Self::key(&object);
        match object.seen(key, &mut self.kinds) {
            Some(pod) => seen.change(|index| index.put_pod(pod)),
            None => self.remove(seen, &key),
        }
    }

    fn remove(&mut self, seen: &WatchedState, key: &Key) {
        seen.change(|index| index.remove_pod(*key));
    }
}

/// The ledgers. An unreadable one counts as missing, so that nothing is terminated because of it.
#[derive(Default)]
pub struct Ledgers {
    /// The pools of ledgers, by the names of the objects.
    pools: HashMap<Box<str>, Box<str>>,
    /// The error that was logged for each unreadable ledger.
    logged: HashMap<Box<str>, String>,
}

impl Kind for Ledgers {
    type Object = ConfigMap;
    type Key = Box<str>;
    const WATCHED: Watched = Watched::Ledgers;

    fn key(object: &ConfigMap) -> Box<str> {
        object.metadata.name.as_deref().unwrap_or_default().into()
    }

    fn begin(&mut self, _: &WatchedState) -> HashSet<Box<str>> {
        self.pools.keys().chain(self.logged.keys()).cloned().collect()
    }

    fn put(&mut self, seen: &WatchedState, object: ConfigMap) {
        let name = Self::key(&object);
        match read_ledger(&object) {
            Ok((pool, ledger)) => {
                self.logged.remove(&name);
                self.pools.insert(name, pool.clone());
                let changed_at = seen.is_up(Watched::Ledgers).then(|| seen.now());
                seen.change(|index| index.put_ledger(&pool, ledger, changed_at));
            }
            Err(error) => {
                let text = error.to_string();
                if self.logged.get(&name) != Some(&text) {
                    tracing::warn!(%error, "a ledger cannot be read");
                    self.logged.insert(name.clone(), text);
                }
                self.take_out(seen, &name);
            }
        }
    }

    fn remove(&mut self, seen: &WatchedState, name: &Box<str>) {
        self.logged.remove(name);
        self.take_out(seen, name);
    }
}

impl Ledgers {
    fn take_out(&mut self, seen: &WatchedState, name: &str) {
        if let Some(pool) = self.pools.remove(name) {
            seen.change(|index| index.remove_ledger(&pool));
        }
    }
}
