//! The ledgers in the API server.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use parking_lot::{Mutex, MutexGuard};
use poolgate_core::nodelimit::ledger::{Ledger, TooManyVictims, UnusableUid};

use super::cached::{CachedLedgers, ReadLedger};
use super::metrics::LedgerMetrics;
use super::object::{self, BrokenLedger, Owner, StoredLedger};
use crate::cluster::api::{ApiError, Deadline};
use crate::cluster::clock::Clock;
use crate::cluster::collection::Collection;

/// Reads and writes ledgers.
pub struct LedgerStore {
    objects: Collection<ConfigMap>,
}

/// Why a ledger was not read or not written.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// Somebody else has written it, or it is gone: read it again.
    #[error("the ledger was changed by another replica")]
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
    /// The API server does not do it. It may have been written.
    #[error(transparent)]
    Api(#[from] ApiError),
}

impl LedgerStore {
    /// The ledgers in `namespace`.
    pub fn new(client: Client, namespace: &str) -> Self {
        Self {
            objects: Collection::new(client, &object::path(namespace)),
        }
    }

    /// Reads the ledger of a pool as it is now.
    pub async fn read(&self, pool: &str, by: Deadline) -> Result<Option<StoredLedger>, LedgerError> {
        let object = self.objects.get_opt(&object::name(pool), by).await?;
        let read = object.map(|object| object::parse_for(&object, Some(pool)));
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
            Some(_) => self.objects.replace(&object::name(owner.name), &object, by).await,
            None => self.objects.create(&object, by).await,
        };
        Ok(object::parse(
            &written.map_err(|error| failed(error, over.is_some()))?,
        )?)
    }
}

/// The ledgers, and what this replica knows of them.
pub struct Ledgers {
    store: LedgerStore,
    known: Mutex<CachedLedgers>,
    clock: Clock,
}

impl Ledgers {
    /// The ledgers in `namespace`. `reservation_lifetime` is how long after it was first seen a reservation may become a
    /// NodeClaim.
    pub fn new(
        client: Client,
        namespace: &str,
        reservation_lifetime: Duration,
        metrics: LedgerMetrics,
        clock: Clock,
    ) -> Self {
        Self {
            store: LedgerStore::new(client, namespace),
            known: Mutex::new(CachedLedgers::new(reservation_lifetime, metrics)),
            clock,
        }
    }

    /// Takes what a watch has listed.
    pub fn listed(&self, name: &str, read: ReadLedger) {
        self.known().put(name, read, self.clock.now());
    }

    /// Takes what a watch reports.
    pub fn changed(&self, name: &str, version: u64, read: ReadLedger) {
        self.known().put_newer(name, version, read, self.clock.now());
    }

    /// What is known.
    pub fn known(&self) -> MutexGuard<'_, CachedLedgers> {
        self.known.lock()
    }

    /// Reads the ledger of a pool as it is now.
    pub async fn read(&self, pool: &str, by: Deadline) -> Result<Option<StoredLedger>, LedgerError> {
        let read = self.store.read(pool, by).await;
        let (name, mut kept) = (object::name(pool), self.known.lock());
        match &read {
            Ok(None) => kept.remove(&name),
            Ok(Some(stored)) => kept.put(&name, Ok(stored.clone()), self.clock.now()),
            Err(LedgerError::Broken(broken)) => kept.put(&name, Err(broken.clone()), self.clock.now()),
            Err(_) => {}
        }
        read
    }

    /// Replaces the ledger of this resourceVersion, or stores a new one.
    pub async fn write(
        &self,
        owner: Owner<'_>,
        ledger: &Ledger,
        over: Option<u64>,
        by: Deadline,
    ) -> Result<StoredLedger, LedgerError> {
        let written = self.store.write(owner, ledger, over, by).await;
        let read = match &written {
            Ok(stored) => Some((stored.version, Ok(stored.clone()))),
            Err(LedgerError::Broken(broken)) => Some((broken.version, Err(broken.clone()))),
            Err(_) => None,
        };
        if let Some((version, read)) = read {
            // The watch may have reported a later write already, and does not report it a second time.
            let mut kept = self.known.lock();
            kept.put_newer(&object::name(owner.name), version, read, self.clock.now());
        }
        written
    }
}

/// What a failed write means. If a new ledger cannot be created (404), its namespace is missing. If an old one cannot be
/// replaced (404), it was deleted.
fn failed(error: ApiError, replaces: bool) -> LedgerError {
    if error.is_conflict() || (replaces && error.is_not_found()) {
        LedgerError::Conflict
    } else {
        error.into()
    }
}
