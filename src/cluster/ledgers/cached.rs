//! The ledgers as this replica knows them, and when it first saw each reservation.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::time::Duration;

use kube::Client;
use parking_lot::{Mutex, MutexGuard};
use poolgate_core::nodelimit::ledger::{FirstSeen, Ledger, Moment};

use super::metrics::LedgerMetrics;
use super::object::{self, BrokenLedger, Owner, StoredLedger};
use super::store::{LedgerError, LedgerStore};
use crate::cluster::api::Deadline;
use crate::cluster::clock::Clock;

/// The content of a ConfigMap.
type ReadLedger = Result<StoredLedger, BrokenLedger>;

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
            store: LedgerStore::new(client, namespace, clock.clone()),
            known: Mutex::new(CachedLedgers::new(reservation_lifetime, metrics)),
            clock,
        }
    }

    /// Takes the list of a watch.
    pub fn listed(&self, name: &str, read: ReadLedger) {
        self.known().put(name, read, self.clock.now());
    }

    /// Takes a change from a watch.
    pub fn changed(&self, name: &str, version: u64, read: ReadLedger) {
        self.known().put_newer(name, version, read, self.clock.now());
    }

    /// The known ledgers.
    pub fn known(&self) -> MutexGuard<'_, CachedLedgers> {
        self.known.lock()
    }

    /// Reads the current ledger of a pool.
    pub async fn read(&self, owner: Owner<'_>, by: Deadline) -> Result<Option<StoredLedger>, LedgerError> {
        let name = object::name(owner.uid);
        let before = self.known().version(&name);
        let read = self.store.read(owner, by).await;
        let (mut kept, now) = (self.known(), self.clock.now());
        // A write or the watch may have overtaken the read. Versions go back only if a backup was restored.
        let is_overtaken = kept.version(&name) != before;
        let mut keep = |version, read| {
            if is_overtaken {
                kept.put_newer(&name, version, read, now);
            } else {
                kept.put(&name, read, now);
            }
        };
        match &read {
            Ok(Some(stored)) => keep(stored.version, Ok(stored.clone())),
            Err(LedgerError::Broken(broken)) => keep(broken.version, Err(broken.clone())),
            Ok(None) if !is_overtaken => kept.remove(&name),
            Ok(None) | Err(_) => {}
        }
        drop(kept);
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
            kept.put_newer(&object::name(owner.uid), version, read, self.clock.now());
        }
        written
    }
}

/// The known state of one ledger.
#[derive(Debug)]
struct Cached {
    /// The ledger, or the version of one that is neither read nor replaced.
    stored: Result<StoredLedger, u64>,
    first_seen: FirstSeen,
}

/// The ledgers that are known, by the names of what they are stored in. Bounded by what is stored.
#[derive(Debug)]
pub struct CachedLedgers {
    reservation_lifetime: Duration,
    by_name: BTreeMap<Box<str>, Cached>,
    /// The pools whose ledgers are in the metrics.
    counted: BTreeSet<Box<str>>,
    metrics: LedgerMetrics,
}

impl CachedLedgers {
    /// None yet. `reservation_lifetime` is how long after it was first seen a reservation may become a NodeClaim.
    pub fn new(reservation_lifetime: Duration, metrics: LedgerMetrics) -> Self {
        Self {
            reservation_lifetime,
            by_name: BTreeMap::new(),
            counted: BTreeSet::new(),
            metrics,
        }
    }

    /// The ledger of a pool as it was last known; none if no readable one is known.
    pub fn get(&self, owner: Owner<'_>) -> Option<StoredLedger> {
        let stored = self.kept(owner)?.stored.as_ref().ok();
        stored.filter(|stored| *stored.pool == *owner.name).cloned()
    }

    /// When this replica first saw each reservation of a pool.
    pub fn first_seen(&self, owner: Owner<'_>) -> Option<&FirstSeen> {
        Some(&self.kept(owner)?.first_seen)
    }

    /// All readable ledgers.
    pub fn all(&self) -> impl Iterator<Item = &StoredLedger> {
        self.by_name.values().filter_map(|kept| kept.stored.as_ref().ok())
    }

    /// Counts the reservations in the ledgers of these pools. The ledger of a pool that was created again since is there
    /// until it is collected, under the same name of a pool.
    pub fn count(&mut self, is_current: impl Fn(Owner<'_>) -> bool) {
        let mut counted = BTreeSet::new();
        for stored in self.all().filter(|stored| is_current(stored.owner())) {
            let count = stored.ledger.reservations().len();
            self.metrics.reservations(&stored.pool, count);
            counted.insert(stored.pool.clone());
        }
        for gone in self.counted.difference(&counted) {
            self.metrics.gone(gone);
        }
        self.counted = counted;
    }

    /// Takes a fresh read or list, which replaces the known state.
    pub fn put(&mut self, name: &str, read: ReadLedger, now: Moment) {
        let stored = read.map_err(|error| {
            self.tell(name, error.version, &error);
            error.version
        });
        if let Ok(stored) = &stored
            && let Some(lost) = &stored.lost
        {
            self.tell(name, stored.version, lost);
        }
        let before = self.by_name.remove(name);
        let new = || FirstSeen::new(self.reservation_lifetime);
        let mut first_seen = before.map_or_else(new, |kept| kept.first_seen);
        if let Ok(stored) = &stored {
            first_seen.observe(&stored.uid, &stored.ledger, now);
        }
        self.by_name.insert(name.into(), Cached { stored, first_seen });
    }

    /// Takes a change from the watch or a write, unless a newer state is known.
    pub fn put_newer(&mut self, name: &str, version: u64, read: ReadLedger, now: Moment) {
        if self.version(name).is_none_or(|known| version > known) {
            self.put(name, read, now);
        }
    }

    /// Notes that a ledger does not exist.
    pub fn remove(&mut self, name: &str) {
        self.by_name.remove(name);
    }

    /// Notes that the watch reports a ledger as gone, unless something newer is known.
    pub fn remove_older(&mut self, name: &str, version: u64) {
        if self.version(name).is_some_and(|known| version > known) {
            self.remove(name);
        }
    }

    /// Forgets ledgers that a complete list lacks.
    pub fn retain(&mut self, is_listed: impl Fn(&str) -> bool) {
        let known = self.by_name.keys();
        let gone: Vec<_> = known.filter(|name| !is_listed(name)).cloned().collect();
        for name in gone {
            self.remove(&name);
        }
    }

    fn kept(&self, owner: Owner<'_>) -> Option<&Cached> {
        self.by_name.get(object::name(owner.uid).as_str())
    }

    fn version(&self, name: &str) -> Option<u64> {
        Some(match &self.by_name.get(name)?.stored {
            Ok(stored) => stored.version,
            Err(version) => *version,
        })
    }

    /// Logs and counts a ledger that cannot be read, once for each time that it is written.
    fn tell(&self, name: &str, version: u64, error: &impl Display) {
        if self.version(name) != Some(version) {
            self.metrics.unreadable();
            tracing::error!(ledger = name, %error, "could not read a ledger, /gate/strict denies NodeClaims of its pool until the ledger is replaced or deleted");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn stored(version: u64, reservations: &str) -> StoredLedger {
        let text = format!(r#"{{"version":1,"seen":0,"reservations":{reservations}}}"#);
        StoredLedger {
            pool: "general".into(),
            version,
            uid: "ledger-1".into(),
            owner: "pool-1".into(),
            ledger: Arc::new(Ledger::parse(&text).expect("a ledger")),
            lost: None,
        }
    }

    fn at(seconds: u64) -> Moment {
        Moment::at(Duration::from_secs(seconds))
    }

    const LIFETIME: Duration = Duration::from_mins(1);

    const NAME: &str = "poolgate-ledger-pool-1";

    const OWNER: Owner<'_> = Owner {
        name: "general",
        uid: "pool-1",
    };

    #[test]
    fn the_newest_of_what_was_reported_is_kept_and_a_read_holds_whatever_was_known() {
        let mut kept = CachedLedgers::new(LIFETIME, LedgerMetrics::default());
        let version = |kept: &CachedLedgers| kept.get(OWNER).map(|stored| stored.version);
        kept.put_newer(NAME, 5, Ok(stored(5, "{}")), at(0));
        kept.put_newer(NAME, 4, Ok(stored(4, "{}")), at(0));
        assert_eq!(version(&kept), Some(5));
        kept.put(NAME, Ok(stored(3, "{}")), at(0));
        assert_eq!(version(&kept), Some(3), "a restored backup");
        kept.remove_older(NAME, 3);
        assert_eq!(version(&kept), Some(3));
        kept.remove_older(NAME, 6);
        assert_eq!(version(&kept), None);
    }

    #[test]
    fn a_reservation_is_as_old_as_its_first_sight() {
        let mut kept = CachedLedgers::new(LIFETIME, LedgerMetrics::default());
        kept.put(NAME, Ok(stored(1, r#"{"a":1}"#)), at(10));
        kept.put_newer(NAME, 2, Ok(stored(2, r#"{"a":1,"b":1}"#)), at(20));
        let first = kept.first_seen(OWNER).and_then(FirstSeen::first_over_at);
        assert_eq!(first, Some(at(10).plus(LIFETIME)));
        kept.put_newer(NAME, 3, Ok(stored(3, "{}")), at(30));
        let first = kept.first_seen(OWNER).and_then(FirstSeen::first_over_at);
        assert_eq!(first, None);
        kept.retain(|_| false);
        assert!(kept.get(OWNER).is_none());
    }
}
