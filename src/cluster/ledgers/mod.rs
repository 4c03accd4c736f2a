//! The ledgers of node limits, shared by all replicas: one ConfigMap for each pool, changed by compare-and-swap, and cached
//! by a watch.

mod cached;
mod follower;
mod object;
mod store;

pub(crate) use cached::CachedLedgers;
pub(crate) use follower::LedgerFollower;
pub(crate) use object::{BrokenLedger, LABEL, Owner, Stored, path, read};
pub(crate) use store::{LedgerStore, StoreError};
