//! The ledgers in the API server.

use std::cell::RefCell;
use std::rc::Rc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::{Api, Client};
use poolgate_core::nodelimit::ledger::Ledger;

use super::cached::CachedLedgers;
use super::object::{self, BrokenLedger, Owner, Stored};
use crate::cluster::clock::Clock;

/// HTTP statuses of a write that failed because another replica has written the ledger.
const NOT_FOUND: u16 = 404;
const CONFLICT: u16 = 409;

/// Reads and writes ledgers, and caches them.
#[derive(Debug)]
pub struct LedgerStore {
    api: Api<ConfigMap>,
    kept: Rc<RefCell<CachedLedgers>>,
    clock: Clock,
}

/// Why a ledger was not read or not written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Somebody else has written it, or it is gone: read it again.
    #[error("the ledger was changed by another replica")]
    Conflict,
    /// It exists, and this release neither reads nor replaces it.
    #[error(transparent)]
    Broken(#[from] BrokenLedger),
    /// The API server does not do it. It may have been written.
    #[error(transparent)]
    Client(kube::Error),
}

impl LedgerStore {
    /// The ledgers in `namespace`, cached there.
    pub fn new(client: Client, namespace: &str, kept: Rc<RefCell<CachedLedgers>>, clock: Clock) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            kept,
            clock,
        }
    }

    /// Reads the ledger of a pool as it is now.
    pub async fn read(&self, pool: &str) -> Result<Option<Stored>, StoreError> {
        let name = object::name(pool);
        let Some(object) = self.api.get_opt(&name).await.map_err(StoreError::Client)? else {
            self.kept.borrow_mut().remove(&name);
            return Ok(None);
        };
        let read = object::read_of(&object, Some(pool));
        self.kept.borrow_mut().put(&name, read.clone(), self.clock.now());
        Ok(Some(read?))
    }

    /// Replaces the ledger of this resourceVersion, or stores a new one.
    pub async fn write(
        &self,
        owner: Owner<'_>,
        ledger: &Ledger,
        over: Option<u64>,
    ) -> Result<Stored, StoreError> {
        let object = object::write(owner, ledger, over);
        let name = object::name(owner.name);
        let params = PostParams::default();
        let written = match over {
            Some(_) => self.api.replace(&name, &params, &object).await,
            None => self.api.create(&params, &object).await,
        };
        let read = object::read(&written.map_err(|error| failed(error, over.is_some()))?);
        let version = match &read {
            Ok(stored) => stored.version,
            Err(broken) => broken.version,
        };
        // The watch may have reported a later write already, and does not report it a second time.
        self.kept
            .borrow_mut()
            .put_newer(&name, version, read.clone(), self.clock.now());
        Ok(read?)
    }
}

/// What a failed write means. If a new ledger cannot be created (404), its namespace is missing. If an old one cannot be
/// replaced (404), it was deleted.
fn failed(error: kube::Error, replaces: bool) -> StoreError {
    match &error {
        kube::Error::Api(status) if status.code == CONFLICT || (replaces && status.code == NOT_FOUND) => {
            StoreError::Conflict
        }
        _ => StoreError::Client(error),
    }
}
