//! The watch of all ledgers.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use k8s_openapi::api::core::v1::ConfigMap;

use super::cached::CachedLedgers;
use super::object;
use crate::cluster::clock::Clock;
use crate::cluster::watch::Follower;

/// Keeps the ledgers up to date.
pub struct LedgerFollower {
    kept: Rc<RefCell<CachedLedgers>>,
    clock: Clock,
    listed: BTreeSet<Box<str>>,
}

impl LedgerFollower {
    /// Keeps these ledgers up to date.
    pub fn new(kept: Rc<RefCell<CachedLedgers>>, clock: Clock) -> Self {
        Self {
            kept,
            clock,
            listed: BTreeSet::new(),
        }
    }
}

impl Follower for LedgerFollower {
    type Object = ConfigMap;

    fn list_begins(&mut self) {
        self.listed.clear();
    }

    fn listed(&mut self, ledger: ConfigMap) {
        if let Some(name) = &ledger.metadata.name {
            self.kept
                .borrow_mut()
                .put(name, object::parse(&ledger), self.clock.now());
            self.listed.insert(name.as_str().into());
        }
    }

    fn list_ends(&mut self) {
        let listed = std::mem::take(&mut self.listed);
        self.kept.borrow_mut().retain(|name| listed.contains(name));
    }

    fn changed(&mut self, ledger: ConfigMap) {
        if let (Some(name), Some(version)) = (&ledger.metadata.name, object::version(&ledger)) {
            let read = object::parse(&ledger);
            self.kept
                .borrow_mut()
                .put_newer(name, version, read, self.clock.now());
        }
    }

    fn gone(&mut self, ledger: &ConfigMap) {
        if let (Some(name), Some(version)) = (&ledger.metadata.name, object::version(ledger)) {
            self.kept.borrow_mut().remove_older(name, version);
        }
    }
}
