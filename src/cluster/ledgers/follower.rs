//! The watch of all ledgers.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;

use super::cached::Ledgers;
use super::object;
use crate::cluster::watch::Follower;

/// Keeps the ledgers up to date.
pub struct LedgerFollower {
    ledgers: Arc<Ledgers>,
    listed: BTreeSet<Box<str>>,
}

impl LedgerFollower {
    /// Keeps these ledgers up to date.
    pub fn new(ledgers: Arc<Ledgers>) -> Self {
        Self {
            ledgers,
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
            self.ledgers.listed(name, object::parse(&ledger));
            self.listed.insert(name.as_str().into());
        }
    }

    fn list_ends(&mut self) {
        let listed = std::mem::take(&mut self.listed);
        self.ledgers.known().retain(|name| listed.contains(name));
    }

    fn changed(&mut self, ledger: ConfigMap) {
        if let (Some(name), Some(version)) = (&ledger.metadata.name, object::version(&ledger)) {
            self.ledgers.changed(name, version, object::parse(&ledger));
        }
    }

    fn gone(&mut self, ledger: &ConfigMap) {
        if let (Some(name), Some(version)) = (&ledger.metadata.name, object::version(ledger)) {
            self.ledgers.known().remove_older(name, version);
        }
    }
}
