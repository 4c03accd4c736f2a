//! What all watches have seen, and since when without a gap.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use poolgate_core::nodelimit::ledger::Moment;
use tokio::sync::Notify;

use super::index::Index;
use crate::cluster::clock::Clock;

/// A watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Watched {
    /// The definition of NodePools.
    Definition,
    /// `NodePools`.
    Pools,
    /// `NodeClaims`.
    Claims,
    /// Nodes.
    Nodes,
    /// Pods.
    Pods,
    /// The ledgers.
    Ledgers,
}

impl Watched {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Definition,
        Self::Pools,
        Self::Claims,
        Self::Nodes,
        Self::Pods,
        Self::Ledgers,
    ];

    /// Its name in logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Definition => "definition",
            Self::Pools => "nodepools",
            Self::Claims => "nodeclaims",
            Self::Nodes => "nodes",
            Self::Pods => "pods",
            Self::Ledgers => "ledgers",
        }
    }
}

/// What the watches have seen; clones share it.
#[derive(Debug, Clone)]
pub struct WatchedState(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    index: Mutex<Index>,
    /// Since when each watch that runs has been complete.
    up: Mutex<BTreeMap<Watched, Moment>>,
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
        at(&locked(&self.0.index))
    }

    /// Changes the index, and wakes the tasks that wait for a change.
    pub fn change<T>(&self, how: impl FnOnce(&mut Index) -> T) -> T {
        let mut index = locked(&self.0.index);
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
    pub fn complete(&self, watch: Watched) {
        locked(&self.0.up).entry(watch).or_insert_with(|| self.now());
        self.0.changed.notify_one();
        self.0.completed.notify_waiters();
    }

    /// Waits until a watch is complete.
    pub async fn completed(&self, watch: Watched) {
        while !self.is_up(watch) {
            self.0.completed.notified().await;
        }
    }

    /// A watch is down.
    pub fn lost(&self, watch: Watched) {
        locked(&self.0.up).remove(&watch);
        self.change(Index::forget_tries);
    }

    /// Whether a watch is complete.
    pub fn is_up(&self, watch: Watched) -> bool {
        locked(&self.0.up).contains_key(&watch)
    }

    /// Whether every watch is complete.
    pub fn is_complete(&self) -> bool {
        locked(&self.0.up).len() == Watched::ALL.len()
    }

    /// Since when all watches have been complete and the definition has been the same; `None` while a watch is
    /// down.
    pub fn steady_since(&self) -> Option<Moment> {
        if !self.is_complete() || !self.look(Index::is_whole) {
            return None;
        }
        let up = locked(&self.0.up);
        up.values().copied().chain(self.look(Index::defined_at)).max()
    }
}

/// What a panic has left is still what was seen.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
