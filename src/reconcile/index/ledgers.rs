//! The pools' ledgers in the index. An unreadable ledger counts as missing, so that nothing is terminated because of
//! it.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use poolgate_core::nodelimit::ledger::{Moment, ReplacedFor, Replacement};
use poolgate_core::nodelimit::plan::LedgerState;

use super::{Index, KnownLedger};
use crate::cluster::ledgers::{self, Owner};

impl Index {
    /// A ledger is new or has changed. `changed_at` is the time; `None` if the ledger was there before the watch: its
    /// last denial may be of any age.
    pub fn put_ledger(&mut self, object: &ConfigMap, changed_at: Option<Moment>) {
        let name = object.metadata.name.as_deref().unwrap_or_default();
        match ledgers::parse(object) {
            Ok(stored) => {
                self.unreadable_ledgers.remove(name);
                self.set_ledger(stored.owner(), ledgers::state(&stored), changed_at);
                self.owner_of_ledger.insert(name.into(), stored.owner);
            }
            Err(error) => {
                let text = error.to_string();
                if self.unreadable_ledgers.get(name) != Some(&text) {
                    tracing::warn!(%error, "could not read a ledger");
                    self.unreadable_ledgers.insert(name.into(), text);
                }
                self.forget_ledger(name);
            }
        }
    }

    /// A ledger is gone.
    pub fn remove_ledger(&mut self, name: &str) {
        self.unreadable_ledgers.remove(name);
        self.forget_ledger(name);
    }

    /// The names of all ledgers, the unreadable ones too.
    pub fn ledgers(&self) -> impl Iterator<Item = &Box<str>> {
        self.owner_of_ledger.keys().chain(self.unreadable_ledgers.keys())
    }

    /// Whether a drifted node of another pool is being replaced. The ledger of a pool that is gone does not count.
    pub fn replaces_drifted_outside(&self, pool: &str) -> bool {
        let is_drifted = |replacement: &Replacement| replacement.reason == ReplacedFor::Drifted;
        let mut others = self.pools.iter().filter(|(name, _)| ***name != *pool);
        others.any(|(_, other)| {
            let known = self.ledgers.get(&*other.pool.uid);
            known.is_some_and(|known| known.ledger.replacement.as_ref().is_some_and(is_drifted))
        })
    }

    /// A pool's ledger says this.
    pub fn set_ledger(&mut self, owner: Owner<'_>, ledger: LedgerState, changed_at: Option<Moment>) {
        let known = self.ledgers.get(owner.uid);
        if known.is_some_and(|known| known.ledger == ledger) {
            return;
        }
        let total = |ledger: &LedgerState| ledger.denial.map(|denial| denial.total);
        let is_denied = known.and_then(|known| total(&known.ledger)) != total(&ledger);
        let before = known.and_then(|known| known.denied_at);
        let denied_at = changed_at.filter(|_| is_denied).or(before);
        // Karpenter waits after a denial whatever has become of the pool.
        self.denied_at = self.denied_at.max(denied_at);
        let same = known.filter(|known| known.ledger.identity == ledger.identity);
        let identified_at = same.map_or(changed_at, |known| known.identified_at);
        let pool: Arc<str> = owner.name.into();
        let known = KnownLedger {
            pool: Arc::clone(&pool),
            ledger,
            identified_at,
            denied_at,
        };
        self.ledgers.insert(owner.uid.into(), known);
        self.note(&pool);
    }

    fn forget_ledger(&mut self, name: &str) {
        if let Some(owner) = self.owner_of_ledger.remove(name)
            && let Some(known) = self.ledgers.remove(&owner)
        {
            self.note(&known.pool);
        }
    }
}
