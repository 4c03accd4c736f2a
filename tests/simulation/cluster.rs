//! Everything that does not belong to a process of poolgate: what is stored, what goes wrong, and who judges it.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher};
use std::sync::{Arc, Mutex, MutexGuard};

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::faults::Faults;
use super::history::{Checker, Event, Kind};
use super::store::{Change, Store};

pub(super) const CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";
pub(super) const POOLS: &str = "/apis/karpenter.sh/v1/nodepools";
pub(super) const NODES: &str = "/api/v1/nodes";
pub(super) const PODS: &str = "/api/v1/pods";
pub(super) const DEPLOYMENTS: &str = "/apis/apps/v1/deployments";
/// The namespace of the ledgers at first.
const NAMESPACE: &str = "poolgate-ledgers";
/// When the simulated time begins.
const EPOCH: &str = "2026-01-05T00:00:00Z";

/// The cluster.
pub(super) struct Cluster {
    inner: Mutex<Inner>,
    began: Instant,
    epoch: Timestamp,
}

pub(super) struct Inner {
    pub(super) store: Store,
    pub(super) faults: Faults,
    pub(super) checker: Checker,
    /// Where processes that start now have their ledgers and their Lease.
    pub(super) namespace: String,
    /// The version at which the cache of one API server stands still.
    pub(super) cached: Option<u64>,
    /// The lists that have more pages.
    pub(super) pages: Vec<(u64, Vec<Arc<Value>>)>,
    trace: DefaultHasher,
    is_shown: bool,
}

impl Cluster {
    pub(super) fn new(faults: Faults, is_shown: bool) -> Arc<Self> {
        Arc::new(Self {
            inner: Mutex::new(Inner {
                store: Store::new(),
                faults,
                checker: Checker::default(),
                namespace: NAMESPACE.into(),
                cached: None,
                pages: Vec::new(),
                trace: DefaultHasher::new(),
                is_shown,
            }),
            began: Instant::now(),
            epoch: EPOCH.parse().expect("an instant"),
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("nobody panicked with it")
    }

    /// Wall time, on a clock that is so many seconds ahead.
    pub(super) fn wall(&self, ahead: i64) -> Timestamp {
        let elapsed = self.began.elapsed();
        self.epoch
            + jiff::SignedDuration::try_from(elapsed).expect("hours")
            + jiff::SignedDuration::from_secs(ahead)
    }

    /// Adds a line to the trace: to its hash, and to standard error if the run is shown.
    pub(super) fn note(&self, text: &str) {
        let elapsed = self.began.elapsed();
        let mut inner = self.lock();
        inner.trace.write_u128(elapsed.as_nanos());
        inner.trace.write(text.as_bytes());
        if inner.is_shown {
            eprintln!("{:10.3} {text}", elapsed.as_secs_f64());
        }
    }

    pub(super) fn hash(&self) -> u64 {
        self.lock().trace.finish()
    }

    /// Changes what is stored, as somebody who is not poolgate, and shows every change to the checker.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Store) -> T) -> T {
        let (result, changes, namespace) = {
            let mut inner = self.lock();
            let known = inner.store.changes.len();
            let result = change(&mut inner.store);
            let changes: Vec<Change> = inner.store.changes.get(known..).unwrap_or_default().to_vec();
            (result, changes, inner.namespace.clone())
        };
        for change in changes {
            let mut line = format!("stored {} {}/{}", change.version, change.key.0, change.key.1);
            let kind = kind(&change.key.0, &namespace);
            if kind == Some(Kind::Ledger)
                && let Some(now) = &change.now
            {
                let _ = write!(
                    line,
                    " {}",
                    now["data"]["ledger.json"].as_str().unwrap_or_default()
                );
            }
            if change.now.is_none() {
                line += " (gone)";
            }
            self.note(&line);
            if let Some(kind) = kind {
                let (before, now) = (change.before.as_deref().cloned(), change.now.as_deref().cloned());
                self.tell(&Event::Stored { kind, before, now });
            }
        }
        result
    }

    /// Tells the checker.
    pub(super) fn tell(&self, event: &Event) {
        let found = self.lock().checker.see(self.began.elapsed(), event);
        if let Err(violation) = found {
            self.note(&format!("VIOLATION {violation}"));
        }
    }

    pub(super) fn text_time(&self) -> String {
        self.wall(0).to_string()
    }
}

/// The path of the ledgers in this namespace.
pub(super) fn ledgers(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

/// The path of the Leases in this namespace.
pub(super) fn leases(namespace: &str) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases")
}

/// The kind of the objects at this path, if it matters.
fn kind(path: &str, namespace: &str) -> Option<Kind> {
    match path {
        POOLS => Some(Kind::Pool),
        CLAIMS => Some(Kind::Claim),
        NODES => Some(Kind::Node),
        _ if path == ledgers(namespace) => Some(Kind::Ledger),
        _ if path == leases(namespace) => Some(Kind::Lease),
        _ => None,
    }
}

/// Marks an object as being deleted, if something must be done before it is gone; else it is gone now.
pub(super) fn delete(cluster: &Cluster, path: &str, name: &str, at: &str) {
    cluster.change(|store| {
        if path == CLAIMS {
            let deleted = json!({"metadata": {"deletionTimestamp": at}});
            let is_new = store
                .get(path, name)
                .is_some_and(|object| object["metadata"]["deletionTimestamp"].is_null());
            if is_new {
                let _ = store.merge(path, name, &deleted);
            }
        } else {
            store.remove(path, name);
        }
    });
}
