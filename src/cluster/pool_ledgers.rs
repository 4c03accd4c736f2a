//! What the reconciler needs of ledgers: it reads them, and writes the victims of a termination. Only the gate writes
//! reservations.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use poolgate_core::nodelimit::ledger::{Ledger, Termination, Uid};
use poolgate_core::nodelimit::plan::{LastDenial, LedgerIdentity, LedgerState, ReplacementState};

use super::api::Deadline;
use super::clock::Clock;
use super::ledgers::{self, BrokenLedger, LedgerError, LedgerStore, Owner, StoredLedger};

/// The ledgers of pools, as the reconciler uses them.
pub struct PoolLedgers {
    store: LedgerStore,
    clock: Clock,
}

impl PoolLedgers {
    /// The ledgers in `namespace`.
    pub fn new(client: Client, namespace: &str, clock: Clock) -> Self {
        Self {
            store: LedgerStore::new(client, namespace),
            clock,
        }
    }

    /// The ledger of a pool as it is now.
    pub async fn read(&self, pool: &str, by: Deadline) -> Result<LedgerState, LedgerError> {
        let stored = self.store.read(pool, by).await?;
        Ok(stored.map_or_else(LedgerState::default, |stored| state(&stored)))
    }

    /// Stores a ledger in place of a missing one. `has_claims` is what a list says that was begun after it was found missing.
    pub async fn store_missing(
        &self,
        (pool, uid): (&str, &str),
        has_claims: bool,
        by: Deadline,
    ) -> Result<(), LedgerError> {
        let owner = Owner { name: pool, uid };
        let ledger = Ledger::in_place_of_missing(has_claims);
        self.store.write(owner, &ledger, None, by).await?;
        Ok(())
    }

    /// Writes what the ledger says of replacements. That must still be as `expected`.
    pub async fn set_replacement(
        &self,
        owner: (&str, &str),
        next: ReplacementState,
        expected: &LedgerState,
        by: Deadline,
    ) -> Result<(), LedgerError> {
        let is_as_expected = |known: &LedgerState| {
            (&known.replacement, known.stopped) == (&expected.replacement, expected.stopped)
        };
        let change = |ledger: Ledger| ledger.with_replacement(next.replacement, next.stopped);
        self.change(owner, expected, is_as_expected, change, by).await
    }

    /// Makes these the victims of the pool's termination, in this order; none cancels it. Everything else in the ledger stays.
    /// The ledger must still be as `expected`, because the victims were chosen by it.
    pub async fn set_victims(
        &self,
        owner: (&str, &str),
        victims: &[Arc<str>],
        expected: &LedgerState,
        by: Deadline,
    ) -> Result<(), LedgerError> {
        let uids: Vec<_> = victims
            .iter()
            .map(|uid| Uid::new(uid))
            .collect::<Result<_, _>>()?;
        let termination = if uids.is_empty() {
            None
        } else {
            Some(Termination::new(self.clock.wall_seconds(), uids)?)
        };
        let is_as_expected = |known: &LedgerState| known.victims == expected.victims;
        let change = |ledger: Ledger| ledger.with_termination(termination);
        self.change(owner, expected, is_as_expected, change, by).await
    }

    /// Changes the ledger that is `expected`. A missing one is not made anew: what it held is lost.
    async fn change(
        &self,
        (name, uid): (&str, &str),
        expected: &LedgerState,
        is_as_expected: impl FnOnce(&LedgerState) -> bool,
        change: impl FnOnce(Ledger) -> Ledger,
        by: Deadline,
    ) -> Result<(), LedgerError> {
        let stored = self.store.read(name, by).await?.ok_or(LedgerError::Conflict)?;
        let known = state(&stored);
        if known.identity != expected.identity || !is_as_expected(&known) {
            return Err(LedgerError::Conflict);
        }
        let ledger = change((*stored.ledger).clone());
        let owner = Owner { name, uid };
        self.store.write(owner, &ledger, Some(stored.version), by).await?;
        Ok(())
    }
}

/// The pool of a ledger, and what a plan needs of it.
pub fn read_ledger(object: &ConfigMap) -> Result<(Box<str>, LedgerState), BrokenLedger> {
    let stored = ledgers::parse(object)?;
    let known = state(&stored);
    Ok((stored.pool, known))
}

/// What a plan needs of a ledger.
pub fn state(stored: &StoredLedger) -> LedgerState {
    let ledger = &*stored.ledger;
    let text = |uid: &Uid| Arc::from(uid.as_str());
    let denial = ledger.denied().and_then(|denial| {
        let at = Timestamp::from_second(i64::try_from(denial.at).ok()?).ok()?;
        let total = denial.total;
        Some(LastDenial { at, total })
    });
    let victims = ledger.termination().map(Termination::victims).unwrap_or_default();
    LedgerState {
        identity: Some(LedgerIdentity {
            object: Arc::from(&*stored.uid),
            closed_over: ledger.closed_over(),
        }),
        reservations: ledger.reservations().map(text).collect(),
        denial,
        victims: victims.iter().map(text).collect(),
        replacement: ledger.replacement().cloned(),
        stopped: ledger.stopped(),
        surged: ledger.surged().iter().map(text).collect(),
    }
}
