//! What becomes of objects of each kind.

use std::collections::{BTreeSet, HashMap, HashSet};

use futures_util::future::LocalBoxFuture;
use k8s_openapi::api::core::v1::ConfigMap;
use poolgate_core::nodelimit::plan::Needs;

use super::Kind;
use crate::cluster::read_ledger;
use crate::objects::Definition;
use crate::reconciler::index::Index;
use crate::reconciler::objects::{ClaimObject, Interned, NodeObject, PodObject, PoolObject};
use crate::reconciler::seen::{Seen, Watched};

/// The definition of NodePools: how it reads is not asked, only whether it changes.
#[derive(Default)]
pub(in crate::reconciler) struct Definitions {
    /// Which one is known, and which generation of it.
    known: Option<(Box<str>, Option<i64>)>,
}

impl Kind for Definitions {
    type Object = Definition;
    const WATCHED: Watched = Watched::Definition;

    fn key(object: &Definition) -> Box<str> {
        object.metadata.name.clone()
    }

    fn put(&mut self, seen: &Seen, object: Definition) {
        let known = Some((object.metadata.uid, object.metadata.generation));
        if self.known != known {
            self.known = known;
            seen.redefined();
        }
    }

    fn remove(&mut self, seen: &Seen, _: &str) {
        self.known = None;
        seen.redefined();
    }

    fn keep(&mut self, _: &Seen, _: HashSet<Box<str>>) {}
}

/// `NodePools`.
#[derive(Default)]
pub(in crate::reconciler) struct Pools;

impl Kind for Pools {
    type Object = PoolObject;
    const WATCHED: Watched = Watched::Pools;

    fn key(object: &PoolObject) -> Box<str> {
        object.metadata.name.clone()
    }

    fn put(&mut self, seen: &Seen, object: PoolObject) {
        seen.change(|index| index.put_pool(object));
    }

    fn remove(&mut self, seen: &Seen, name: &str) {
        seen.change(|index| index.remove_pool(name));
    }

    fn keep(&mut self, seen: &Seen, listed: HashSet<Box<str>>) {
        seen.change(|index| index.keep_pools(&listed));
    }
}

/// `NodeClaims`.
#[derive(Default)]
pub(in crate::reconciler) struct Claims {
    names: Interned<str>,
}

impl Kind for Claims {
    type Object = ClaimObject;
    const WATCHED: Watched = Watched::Claims;

    fn key(object: &ClaimObject) -> Box<str> {
        object.metadata.uid.clone()
    }

    fn put(&mut self, seen: &Seen, object: ClaimObject) {
        let uid = Self::key(&object);
        match object.seen(&mut self.names) {
            Some(claim) => seen.change(|index| index.put_claim(claim, seen.now())),
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
pub(in crate::reconciler) struct Nodes {
    names: Interned<str>,
    labels: BTreeSet<Box<str>>,
}

impl Kind for Nodes {
    type Object = NodeObject;
    const WATCHED: Watched = Watched::Nodes;

    fn key(object: &NodeObject) -> Box<str> {
        object.metadata.name.clone()
    }

    fn begin(&mut self, seen: &Seen) {
        self.labels = seen.change(Index::selected_labels);
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
pub(in crate::reconciler) struct Pods {
    names: Interned<str>,
    needs: Interned<Needs>,
}

impl Kind for Pods {
    type Object = PodObject;
    const WATCHED: Watched = Watched::Pods;

    fn key(object: &PodObject) -> Box<str> {
        object.metadata.uid.clone()
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

/// The ledgers. One that cannot be read counts as missing, so that nothing is terminated by it.
#[derive(Default)]
pub(in crate::reconciler) struct Ledgers {
    /// The pools of ledgers, by the names of the objects.
    pools: HashMap<Box<str>, Box<str>>,
    /// What was logged of one that cannot be read.
    logged: HashMap<Box<str>, String>,
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
        self.logged.retain(|name, _| listed.contains(name));
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
