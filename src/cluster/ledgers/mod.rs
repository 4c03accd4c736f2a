//! The ledgers of node limits, where all replicas find them: one ConfigMap for each pool, changed by
//! compare-and-swap, and kept at hand by a watch.

mod cached;
mod follower;
mod object;
mod store;

pub(super) use cached::CachedLedgers;
pub(super) use follower::LedgerFollower;
pub(crate) use object::LABEL;
pub(super) use object::{BrokenLedger, Owner, Stored, read};
pub(super) use store::{LedgerStore, StoreError};
