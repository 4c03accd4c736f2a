//! Pools in the index, and their definition.

use std::sync::Arc;

use poolgate_core::nodelimit::ledger::Moment;
use poolgate_core::nodelimit::plan::Pool;
use poolgate_core::policy::Policy;
use serde_json::json;

use super::{Index, KnownPool};
use crate::cluster::objects::{Definition, PoolObject};

impl Index {
    /// The definition of NodePools is new or has changed. Its content is not read.
    pub fn put_definition(&mut self, object: Definition, now: Moment) {
        let definition = Some((object.metadata.uid, object.metadata.generation));
        if self.definition != definition {
            self.definition = definition;
            self.defined_at = Some(now);
        }
    }

    /// The definition of NodePools is gone.
    pub fn remove_definition(&mut self, now: Moment) {
        self.definition = None;
        self.defined_at = Some(now);
    }

    /// When the definition of NodePools last changed.
    pub fn defined_at(&self) -> Option<Moment> {
        self.defined_at
    }

    /// A pool is new or has changed.
    pub fn put_pool(&mut self, object: &PoolObject) {
        let name: Arc<str> = object.metadata.name.as_ref().into();
        let object = object.kept();
        let text = object.to_string().into_boxed_str();
        if self.pools.get(&name).is_some_and(|known| known.object == text) {
            return;
        }
        let (count, bound) = (self.pools.len(), self.bounds.pools);
        if !self.pools.contains_key(&name) && !self.has_room("nodepools", count, bound) {
            return;
        }
        let pool = Arc::new(Pool::of(&object, &self.policy));
        self.pools
            .insert(Arc::clone(&name), KnownPool { object: text, pool });
        self.changed.insert(name);
    }

    /// A pool is gone.
    pub fn remove_pool(&mut self, name: &str) {
        if let Some((name, _)) = self.pools.remove_entry(name) {
            self.changed.insert(name);
        }
    }

    /// The names of all pools.
    pub fn pools(&self) -> impl Iterator<Item = &Arc<str>> {
        self.pools.keys()
    }

    /// Another policy is in force: all pools are read again.
    pub fn set_policy(&mut self, policy: Arc<Policy>) {
        self.note_all();
        for known in self.pools.values_mut() {
            known.pool = Arc::new(Pool::of(&known.object(), &policy));
        }
        self.policy = policy;
        self.note_all();
    }

    /// The pool of this name; a pool without a limit if it does not exist.
    pub fn pool(&self, name: &str) -> Arc<Pool> {
        match self.pools.get(name) {
            Some(known) => Arc::clone(&known.pool),
            None => Arc::new(Pool::of(&json!({"metadata": {"name": name}}), &self.policy)),
        }
    }

    /// Whether there is a pool of this name.
    pub fn knows_pool(&self, name: &str) -> bool {
        self.pools.contains_key(name)
    }

    /// The policy under which pools are read.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// Whether there is something to do for the nodes of this pool: it has a limit, or is frozen.
    pub fn is_managed(&self, name: &str) -> bool {
        self.pools
            .get(name)
            .is_some_and(|known| known.pool.limit.is_some() || known.pool.freeze.is_some())
    }
}
