//! What the ledgers of pools say.

use std::sync::Arc;

use poolgate_core::nodelimit::plan::LedgerState;

use super::Index;

impl Index {
    /// A pool's ledger is new or has changed.
    pub(in crate::reconciler) fn put_ledger(&mut self, pool: &str, ledger: LedgerState) {
        if self.ledgers.get(pool) != Some(&ledger) {
            self.ledgers.insert(pool.into(), ledger);
            self.note(&Arc::from(pool));
        }
    }

    /// A pool's ledger is gone.
    pub(in crate::reconciler) fn remove_ledger(&mut self, pool: &str) {
        if self.ledgers.remove(pool).is_some() {
            self.note(&Arc::from(pool));
        }
    }
}
