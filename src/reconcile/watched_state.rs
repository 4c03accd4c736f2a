//! The state seen by all watches, and since when without a gap.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use poolgate_core::nodelimit::ledger::Moment;
use tokio::sync::Notify;

use super::index::Index;
use crate::cluster::clock::Clock;

/// The names of the watches in logs and metrics. Each of them decides readiness and terminations.
pub const WATCHES: [&str; 6] = [
    "definition",
    "nodepools",
    "nodeclaims",
    "nodes",
    "pods",
    "ledgers",
];

/// The state seen by the watches; clones share it.
#[derive(Debug, Clone)]
pub struct WatchedState(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    index: Mutex<Index>,
    /// Since when each watch that runs has been complete.
    up: Mutex<BTreeMap<&'static str, Moment>>,
    clock: Clock,
    changed: Notify,
    completed: Notify,
    relist_nodes: Notify,
}

impl WatchedState {
    pub fn new(index: Index, clock: Clock) -> Self {
        Self(Arc::new(Inner {
            index: Mutex::new(index),
            up: Mutex::default(),
            clock,
            changed: Notify::new(),
            completed: Notify::new(),
            relist_nodes: Notify::new(),
        }))
    }

    /// The current time on the clock that is used for everything here.
    pub fn now(&self) -> Moment {
        self.0.clock.now()
    }

    /// Reads the index.
    pub fn look<T>(&self, at: impl FnOnce(&Index) -> T) -> T {
        at(&self.0.index.lock())
    }

    /// Changes the index, and wakes the tasks that wait for a change.
    pub fn change<T>(&self, how: impl FnOnce(&mut Index) -> T) -> T {
        let mut index = self.0.index.lock();
        let result = how(&mut index);
        if index.has_changed() {
            self.0.changed.notify_one();
        }
        if index.wants_other_labels() {
            self.0.relist_nodes.notify_one();
        }
        result
    }

    /// Waits until something has changed.
    pub async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// Waits until nodes must be listed again. A list that began after the request is enough.
    pub async fn wants_nodes_again(&self) {
        while !self.look(Index::wants_other_labels) {
            self.0.relist_nodes.notified().await;
        }
    }

    /// A watch is complete.
    pub fn complete(&self, watch: &'static str) {
        self.0.up.lock().entry(watch).or_insert_with(|| self.now());
        self.0.changed.notify_one();
        self.0.completed.notify_waiters();
    }

    /// Waits until a watch is complete.
    pub async fn completed(&self, watch: &'static str) {
        loop {
            // Before the check: what completes after it would be missed otherwise.
            let completed = self.0.completed.notified();
            if self.is_up(watch) {
                return;
            }
            completed.await;
        }
    }

    /// A watch is down.
    pub fn lost(&self, watch: &'static str) {
        self.0.up.lock().remove(watch);
        self.change(Index::forget_tries);
    }

    /// Whether a watch is complete.
    pub fn is_up(&self, watch: &'static str) -> bool {
        self.0.up.lock().contains_key(watch)
    }

    /// Whether every watch is complete.
    pub fn is_complete(&self) -> bool {
        let up = self.0.up.lock();
        WATCHES.iter().all(|watch| up.contains_key(watch))
    }

    /// Since when all watches have been complete and the definition has been the same; `None` while a watch is
    /// down.
    pub fn steady_since(&self) -> Option<Moment> {
        if !self.is_complete() || !self.look(Index::is_whole) {
            return None;
        }
        let up = self.0.up.lock();
        up.values().copied().chain(self.look(Index::defined_at)).max()
    }
}
