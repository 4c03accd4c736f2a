//! What the reconciler needs of ledgers: it reads them, and writes the victims of a termination. Only the gate writes
//! reservations.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use poolgate_core::nodelimit::ledger::{Ledger, Termination, Uid};
use poolgate_core::nodelimit::plan::{LastDenial, LedgerState, ReplacementState};

use super::api::Deadline;
use super::clock::wall_seconds;
use super::ledgers::{self, BrokenLedger, LedgerError, LedgerStore, Owner};

/// The ledgers of pools, as the reconciler uses them.
pub struct PoolLedgers {
    store: LedgerStore,
}

impl PoolLedgers {
    /// The ledgers in `namespace`.
    pub fn new(client: Client, namespace: &str) -> Self {
        Self {
            store: LedgerStore::new(client, namespace),
        }
    }

    /// The ledger of a pool as it is now.
    pub async fn read(&self, pool: &str, by: Deadline) -> Result<LedgerState, LedgerError> {
        let stored = self.store.read(pool, by).await?;
        Ok(stored.map_or_else(LedgerState::default, |stored| state(&stored.ledger)))
    }

    /// Writes what the ledger says of replacements. That must still be as `expected`.
    pub async fn set_replacement(
        &self,
        (pool, uid): (&str, &str),
        next: ReplacementState,
        expected: &LedgerState,
        by: Deadline,
    ) -> Result<(), LedgerError> {
        let (ledger, version) = self.read_for_update(pool, by).await?;
        let known = state(&ledger);
        if (&known.replacement, known.stopped) != (&expected.replacement, expected.stopped) {
            return Err(LedgerError::Conflict);
        }
        let owner = Owner { name: pool, uid };
        let ledger = ledger.with_replacement(next.replacement, next.stopped);
        self.store.write(owner, &ledger, version, by).await?;
        Ok(())
    }

    async fn read_for_update(&self, pool: &str, by: Deadline) -> Result<(Ledger, Option<u64>), LedgerError> {
        let stored = self.store.read(pool, by).await?;
        Ok(stored.map_or_else(
            || (Ledger::default(), None),
            |stored| ((*stored.ledger).clone(), Some(stored.version)),
        ))
    }

    /// Makes these the victims of the pool's termination, in this order; none cancels it. Everything else in the ledger stays.
    /// The ledger must still be as `expected`, because the victims were chosen by it.
    pub async fn set_victims(
        &self,
        (pool, uid): (&str, &str),
        victims: &[Arc<str>],
        expected: &[Arc<str>],
        by: Deadline,
    ) -> Result<(), LedgerError> {
        let (ledger, version) = self.read_for_update(pool, by).await?;
        if state(&ledger).victims != expected {
            return Err(LedgerError::Conflict);
        }
        let uids = victims
            .iter()
            .map(|uid| Uid::new(uid))
            .collect::<Result<Vec<_>, _>>()?;
        let termination = if uids.is_empty() {
            None
        } else {
            Some(Termination::new(wall_seconds(), uids)?)
        };
        let owner = Owner { name: pool, uid };
        self.store
            .write(owner, &ledger.with_termination(termination), version, by)
            .await?;
        Ok(())
    }
}

/// The pool of a ledger, and what a plan needs of it.
pub fn read_ledger(object: &ConfigMap) -> Result<(Box<str>, LedgerState), BrokenLedger> {
    let stored = ledgers::parse(object)?;
    Ok((stored.pool, state(&stored.ledger)))
}

fn state(ledger: &Ledger) -> LedgerState {
    let text = |uid: &Uid| Arc::from(uid.as_str());
    let denial = ledger.denied().and_then(|denial| {
        let at = Timestamp::from_second(i64::try_from(denial.at).ok()?).ok()?;
        let total = denial.total;
        Some(LastDenial { at, total })
    });
    let victims = ledger.termination().map(Termination::victims).unwrap_or_default();
    LedgerState {
        reservations: ledger.reservations().map(text).collect(),
        denial,
        victims: victims.iter().map(text).collect(),
        replacement: ledger.replacement().cloned(),
        stopped: ledger.stopped(),
        surged: ledger.surged().iter().map(text).collect(),
    }
}
