//! The ledgers of node limits, shared by all replicas: one ConfigMap for each pool, changed by compare-and-swap, and cached
//! by a watch.

mod cached;
mod follower;
mod metrics;
mod object;
mod store;

pub use cached::Ledgers;
pub use follower::LedgerFollower;
pub use metrics::LedgerMetrics;
pub use object::{Owner, StoredLedger, parse, path};
pub use store::{LedgerError, LedgerStore, state};
