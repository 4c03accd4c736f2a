//! The ledgers in the API server: nothing else writes them. The gate writes reservations, the reconciler what it
//! terminates and replaces, each over the version that it has read.
//!
//! A missing ledger counts as closed. It has no identity to decide by, and no change recreates it.
//! [`LedgerStore::store_missing`] and the gate's decisions store a closed one in its place, if its pool has
//! NodeClaims.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use poolgate_core::nodelimit::ledger::{Ledger, Termination, TooManyVictims, Uid, UnusableUid};
use poolgate_core::nodelimit::plan::{LastDenial, LedgerIdentity, LedgerState, ReplacementState};

use super::object::{self, BrokenLedger, Owner, StoredLedger};
use crate::cluster::api::{ApiError, Deadline};
use crate::cluster::clock::Clock;
use crate::cluster::collection::Collection;

/// Reads and writes ledgers.
pub struct LedgerStore {
    objects: Collection<ConfigMap>,
    clock: Clock,
}

/// Why a ledger was not read or not written.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// Another writer changed it, or it is gone: read it again.
    #[error("another replica changed the ledger")]
    Conflict,
    /// It exists, and this release neither reads nor replaces it.
    #[error(transparent)]
    Broken(#[from] BrokenLedger),
    /// These are too many victims.
    #[error(transparent)]
    TooMany(#[from] TooManyVictims),
    /// A victim has a UID that a ledger cannot store.
    #[error(transparent)]
    Uid(#[from] UnusableUid),
    /// The call failed. The ledger may have been written all the same.
    #[error(transparent)]
    Api(#[from] ApiError),
}

impl LedgerStore {
    /// The ledgers in `namespace`.
    pub fn new(client: Client, namespace: &str, clock: Clock) -> Self {
        Self {
            objects: Collection::new(client, &object::path(namespace)),
            clock,
        }
    }

    /// Reads the current ledger of a pool.
    pub async fn read(&self, owner: Owner<'_>, by: Deadline) -> Result<Option<StoredLedger>, LedgerError> {
        let object = self.objects.get_opt(&object::name(owner.uid), by).await?;
        let read = object.map(|object| object::parse_for(&object, Some(owner.name)));
        Ok(read.transpose()?)
    }

    /// Replaces the ledger of this resourceVersion, or stores a new one.
    pub async fn write(
        &self,
        owner: Owner<'_>,
        ledger: &Ledger,
        over: Option<u64>,
        by: Deadline,
    ) -> Result<StoredLedger, LedgerError> {
        let object = object::write(owner, ledger, over);
        let written = match over {
            Some(_) => self.objects.replace(&object::name(owner.uid), &object, by).await,
            None => self.objects.create(&object, by).await,
        };
        Ok(object::parse(
            &written.map_err(|error| failed(error, over.is_some()))?,
        )?)
    }

    /// The current ledger of a pool, as far as a plan needs it.
    pub async fn state(&self, owner: Owner<'_>, by: Deadline) -> Result<LedgerState, LedgerError> {
        let stored = self.read(owner, by).await?;
        Ok(stored.map_or_else(LedgerState::default, |stored| state(&stored)))
    }

    /// Stores a ledger in place of a missing one. `has_claims` comes from a list that began after it was found
    /// missing.
    pub async fn store_missing(
        &self,
        owner: Owner<'_>,
        has_claims: bool,
        by: Deadline,
    ) -> Result<(), LedgerError> {
        let ledger = Ledger::in_place_of_missing(has_claims);
        self.write(owner, &ledger, None, by).await?;
        Ok(())
    }

    /// Writes the ledger's replacements, which must still be as `expected`.
    pub async fn set_replacement(
        &self,
        owner: Owner<'_>,
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
        owner: Owner<'_>,
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

    /// Changes the ledger that is `expected`. A missing one is not recreated, because its content is lost.
    async fn change(
        &self,
        owner: Owner<'_>,
        expected: &LedgerState,
        is_as_expected: impl FnOnce(&LedgerState) -> bool,
        change: impl FnOnce(Ledger) -> Ledger,
        by: Deadline,
    ) -> Result<(), LedgerError> {
        let stored = self.read(owner, by).await?.ok_or(LedgerError::Conflict)?;
        let known = state(&stored);
        if known.identity != expected.identity || !is_as_expected(&known) {
            return Err(LedgerError::Conflict);
        }
        let ledger = change((*stored.ledger).clone());
        self.write(owner, &ledger, Some(stored.version), by).await?;
        Ok(())
    }
}

/// The part of a ledger that a plan needs.
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

/// The meaning of a failed write. If a new ledger cannot be created (404), its namespace is missing. If an old one
/// cannot be replaced (404), it was deleted.
fn failed(error: ApiError, replaces: bool) -> LedgerError {
    if error.is_conflict() || (replaces && error.is_not_found()) {
        LedgerError::Conflict
    } else {
        error.into()
    }
}
