//! What the reconciler needs of ledgers: it reads them, and writes the victims of a termination. Only the gate writes
//! reservations.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use poolgate_core::nodelimit::ledger::{Ledger, Termination, TooManyVictims, Uid, UnusableUid};
use poolgate_core::nodelimit::plan::{LastDenial, LedgerState, ReplacementState};

use super::clock::{Clock, wall_seconds};
use super::ledgers::{self, BrokenLedger, CachedLedgers, LedgerMetrics, LedgerStore, Owner, StoreError};

/// Why victims were not written into a ledger.
#[derive(Debug, thiserror::Error)]
pub enum VictimError {
    /// The ledger could not be read or written.
    #[error("ledger: {0}")]
    Store(#[from] StoreError),
    /// They are too many.
    #[error(transparent)]
    TooMany(#[from] TooManyVictims),
    /// A UID that a ledger cannot store.
    #[error(transparent)]
    Uid(#[from] UnusableUid),
}

impl VictimError {
    /// Whether another writer was faster, which is not a failure.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Store(StoreError::Conflict))
    }
}

/// The ledgers of pools, as the reconciler uses them.
pub struct PoolLedgers {
    store: LedgerStore,
}

impl PoolLedgers {
    /// The ledgers in `namespace`.
    pub fn new(client: Client, namespace: &str) -> Self {
        let kept = Rc::new(RefCell::new(CachedLedgers::new(LedgerMetrics::default())));
        Self {
            store: LedgerStore::new(client, namespace, kept, Clock::start()),
        }
    }

    /// The ledger of a pool as it is now.
    pub async fn read(&self, pool: &str) -> Result<LedgerState, VictimError> {
        let stored = self.store.read(pool).await?;
        Ok(stored.map_or_else(LedgerState::default, |stored| state(&stored.ledger)))
    }

    /// Writes what the ledger says of replacements. That must still be as `expected`.
    pub async fn set_replacement(
        &self,
        (pool, uid): (&str, &str),
        next: ReplacementState,
        expected: &LedgerState,
    ) -> Result<(), VictimError> {
        let (ledger, version) = self.read_for_update(pool).await?;
        let known = state(&ledger);
        if (&known.replacement, known.stopped) != (&expected.replacement, expected.stopped) {
            return Err(StoreError::Conflict.into());
        }
        let owner = Owner { name: pool, uid };
        let ledger = ledger.with_replacement(next.replacement, next.stopped);
        self.store.write(owner, &ledger, version).await?;
        Ok(())
    }

    async fn read_for_update(&self, pool: &str) -> Result<(Ledger, Option<u64>), VictimError> {
        let stored = self.store.read(pool).await?;
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
    ) -> Result<(), VictimError> {
        let (ledger, version) = self.read_for_update(pool).await?;
        if state(&ledger).victims != expected {
            return Err(StoreError::Conflict.into());
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
            .write(owner, &ledger.with_termination(termination), version)
            .await?;
        Ok(())
    }
}

/// The pool of a ledger, and what a plan needs of it.
pub fn read_ledger(object: &ConfigMap) -> Result<(Box<str>, LedgerState), BrokenLedger> {
    let stored = ledgers::read(object)?;
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
        mode: ledger.limit().map(|limit| limit.mode),
        victims: victims.iter().map(text).collect(),
        replacement: ledger.replacement().cloned(),
        stopped: ledger.stopped(),
        surged: ledger.surged().iter().map(text).collect(),
    }
}
