//! The input of decisions: the known pools, ledgers and claims, and the client for the API server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use parking_lot::Mutex;
use poolgate_core::api::{NodeLimit, OverLimit};
use poolgate_core::facts::ApiVersion;
use poolgate_core::json::Json;
use poolgate_core::nodelimit::ledger::{FirstSeen, LimitInForce, Moment};
use poolgate_core::pool::NodePool;

use super::claim_lists::ClaimLists;
use super::claims::ClaimViews;
use super::metrics::GateMetrics;
use super::pool_lists::PoolLists;
use crate::cluster::Collection;
use crate::cluster::clock::Clock;
use crate::cluster::ledgers::{Ledgers, Owner, StoredLedger};
use crate::cluster::objects::{NODE_CLAIMS, NODE_POOLS};
use crate::cluster::pools::Pool;
#[cfg(test)]
use crate::cluster::view::Pools;
use crate::cluster::view::{CachedPool, ClusterView};

/// The state that all decisions share.
pub struct GateContext {
    pub ledgers: Arc<Ledgers>,
    pub pools: Collection<Pool>,
    pub claims: Arc<Mutex<ClaimViews>>,
    pub claim_lists: Arc<ClaimLists>,
    pub pool_lists: Arc<PoolLists>,
    pub shared: Shared,
    /// Denials that are in no ledger yet, by the name of the pool, with its UID.
    unrecorded: Mutex<BTreeMap<Box<str>, Denials>>,
    /// The UIDs of pools with background work in flight: a sweep, or the write of denials.
    beside: Mutex<BTreeSet<Box<str>>>,
}

/// Denials of the pool with this UID.
#[derive(Default)]
struct Denials {
    uid: Box<str>,
    count: u64,
}

/// The node limit that a NodePool declares.
#[derive(Debug, Clone, Default)]
pub struct PoolLimit {
    /// The pool's uid; `None` if there is no such pool.
    pub uid: Option<Box<str>>,
    /// Its limit, if it has one that can be read.
    pub limit: Option<LimitInForce>,
    /// Why the limit is not known, so that `/gate/strict` denies.
    pub unknown: Option<Box<str>>,
}

impl PoolLimit {
    /// The limit of a pool. The NodePool alone decides it: replicas that also read a file could have different files for
    /// minutes, and overwrite each other's limit.
    pub fn of(pool: &CachedPool) -> Self {
        let uid = Some(pool.uid.clone());
        let Some(object) = pool.object.as_deref() else {
            return Self {
                uid,
                ..Self::default()
            };
        };
        let object = Json::from(object);
        let view = NodePool::view(ApiVersion::V1, &object);
        // The fate of claims above the limit is not decided here.
        let limit = NodeLimit::of(&view, OverLimit::default()).map(|limit| LimitInForce {
            nodes: limit.nodes,
            mode: limit.mode,
            surge: limit.surge(&view),
            pool_version: pool.version,
        });
        let unknown = view.unreadable_node_limit();
        Self {
            uid,
            limit,
            unknown: unknown.map(|place| format!("{place} is not a number of nodes").into()),
        }
    }
}

impl GateContext {
    /// A context whose ledgers are in `namespace`.
    pub fn new(client: &Client, namespace: &str, shared: Shared) -> Arc<Self> {
        let (clock, metrics) = (&shared.clock, &shared.metrics);
        let ledgers = Ledgers::new(
            client.clone(),
            namespace,
            shared.reservation_lifetime,
            metrics.ledgers.clone(),
            clock.clone(),
        );
        let claims = ClaimViews::new(metrics.invariants.clone());
        let claims = Arc::new(Mutex::new(claims));
        let claim_lists = ClaimLists::new(
            Collection::new(client.clone(), NODE_CLAIMS),
            Arc::clone(&claims),
            clock.clone(),
            metrics.clone(),
        );
        let pools = || Collection::new(client.clone(), NODE_POOLS);
        Arc::new(Self {
            ledgers: Arc::new(ledgers),
            pools: pools(),
            claims,
            claim_lists: Arc::new(claim_lists),
            pool_lists: Arc::new(PoolLists::new(pools(), clock.clone(), metrics.clone())),
            shared,
            unrecorded: Mutex::default(),
            beside: Mutex::default(),
        })
    }

    /// How many denials of this pool are in no ledger yet.
    pub fn unrecorded(&self, owner: Owner<'_>) -> u64 {
        let unrecorded = self.unrecorded.lock();
        let known = unrecorded.get(owner.name);
        let known = known.filter(|known| *known.uid == *owner.uid);
        known.map_or(0, |known| known.count)
    }

    /// Adds denials of this pool that were answered and are in no ledger yet.
    pub fn answered(&self, owner: Owner<'_>, denials: u64) {
        let mut unrecorded = self.unrecorded.lock();
        let known = unrecorded.entry(owner.name.into()).or_default();
        if *known.uid != *owner.uid {
            // Those of a pool that is gone belong in no ledger.
            *known = Denials {
                uid: owner.uid.into(),
                count: 0,
            };
        }
        known.count += denials;
    }

    /// Removes denials that are in a ledger now.
    pub fn recorded(&self, owner: Owner<'_>, denials: u64) {
        let mut unrecorded = self.unrecorded.lock();
        if let Some(known) = unrecorded.get_mut(owner.name)
            && *known.uid == *owner.uid
        {
            known.count = known.count.saturating_sub(denials);
            if known.count == 0 {
                unrecorded.remove(owner.name);
            }
        }
    }

    /// Begins background work for this pool; `None` if some is already in flight.
    pub fn begin_beside(self: &Arc<Self>, owner: Owner<'_>) -> Option<Beside> {
        let begins = self.beside.lock().insert(owner.uid.into());
        begins.then(|| Beside {
            context: Arc::clone(self),
            uid: owner.uid.into(),
        })
    }

    /// The ledgers that need a sweep: they hold reservations or surges, or have lost them. Also counts all ledgers.
    pub fn unsettled(&self) -> Vec<StoredLedger> {
        let mut known = self.ledgers.known();
        known.count(|owner| self.is_current(owner));
        let unsettled = known.all().filter(|stored| stored.ledger.is_unsettled());
        unsettled
            .filter(|stored| self.is_current(stored.owner()))
            .cloned()
            .collect()
    }

    /// Whether no other pool has taken this one's name, as far as the watch shows.
    fn is_current(&self, owner: Owner<'_>) -> bool {
        let pool = self.shared.view.pool(owner.name);
        pool.is_none_or(|pool| *pool.uid == *owner.uid)
    }

    /// Whether the oldest reservation of a pool is old enough to be removed if its claim does not exist, or its closed ledger
    /// is old enough to open.
    pub fn has_overdue_reservation(&self, owner: Owner<'_>, now: Moment) -> bool {
        let ledgers = self.ledgers.known();
        let first = ledgers.first_seen(owner).and_then(FirstSeen::first_over_at);
        first.is_some_and(|over| over <= now)
    }
}

/// Background work for a pool: a sweep, or the write of denials. It ends when this is dropped, also by a panic:
/// otherwise nothing more of the pool would be recorded until a restart.
pub struct Beside {
    context: Arc<GateContext>,
    uid: Box<str>,
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.context.beside.lock().remove(&self.uid);
    }
}

#[cfg(test)]
impl GateContext {
    /// A context that knows of the cluster that there is a NodePool `general`, without a limit.
    pub fn of_client(client: &Client) -> Arc<Self> {
        let general = CachedPool {
            uid: "p".into(),
            version: 4,
            object: None,
        };
        let mut pools = Pools::default();
        pools.insert("general".into(), general);
        let view = ClusterView::default();
        view.set_pools(Some(pools));
        let shared = Shared {
            view: Arc::new(view),
            clock: Clock::start(),
            metrics: GateMetrics::default(),
            reservation_lifetime: Duration::from_mins(1),
        };
        Self::new(client, "default", shared)
    }
}

/// The state that the gate shares with the rest of the process.
#[derive(Debug, Clone)]
pub struct Shared {
    pub view: Arc<ClusterView>,
    pub clock: Clock,
    pub metrics: GateMetrics,
    /// How long after it was first seen a reservation may still become a NodeClaim.
    pub reservation_lifetime: Duration,
}
