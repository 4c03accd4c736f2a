//! Pools in the index, and what their ledgers say.

use std::sync::Arc;

use poolgate_core::nodelimit::ledger::{Moment, ReplacedFor, Replacement};
use poolgate_core::nodelimit::plan::{LedgerState, Pool};
use poolgate_core::policy::Policy;
use serde_json::json;

use super::{Index, KnownLedger, KnownPool};
use crate::objects::PoolObject;

impl Index {
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
        let was_limited = self.is_limited(&name);
        let known = KnownPool { object: text, pool };
        self.pools.insert(Arc::clone(&name), known);
        if was_limited || self.is_limited(&name) || self.marked.contains_key(&name) {
            self.changed.insert(name);
        }
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
            // We wrote this text ourselves.
            let object = serde_json::from_str(&known.object).unwrap_or_default();
            known.pool = Arc::new(Pool::of(&object, &policy));
        }
        self.policy = policy;
        self.note_all();
    }

    /// A pool's ledger is new or has changed. `changed_at` is the time; `None` if the ledger was there before the
    /// watch: its last denial may be of any age.
    pub fn put_ledger(&mut self, pool: &str, ledger: LedgerState, changed_at: Option<Moment>) {
        let known = self.ledgers.get(pool);
        if known.is_some_and(|known| known.ledger == ledger) {
            return;
        }
        let total = |ledger: &LedgerState| ledger.denial.map(|denial| denial.total);
        let is_denied = known.and_then(|known| total(&known.ledger)) != total(&ledger);
        let before = known.and_then(|known| known.denied_at);
        let denied_at = changed_at.filter(|_| is_denied).or(before);
        self.denied_at = self.denied_at.max(denied_at);
        self.ledgers
            .insert(pool.into(), KnownLedger { ledger, denied_at });
        self.note(&Arc::from(pool));
    }

    /// Whether a drifted node of another pool is being replaced.
    pub fn replaces_drifted_outside(&self, pool: &str) -> bool {
        let is_drifted = |replacement: &Replacement| replacement.reason == ReplacedFor::Drifted;
        let mut others = self.ledgers.iter().filter(|(name, _)| ***name != *pool);
        others.any(|(_, known)| known.ledger.replacement.as_ref().is_some_and(is_drifted))
    }

    /// A pool's ledger is gone.
    pub fn remove_ledger(&mut self, pool: &str) {
        if self.ledgers.remove(pool).is_some() {
            self.note(&Arc::from(pool));
        }
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

    pub fn is_limited(&self, name: &str) -> bool {
        self.pools
            .get(name)
            .is_some_and(|known| known.pool.limit.is_some())
    }
}
