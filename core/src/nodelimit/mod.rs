//! Node limits that hold: which limit a pool has, how it is meant, and who may still come in.
//!
//! Pure: knows nothing of clusters, clocks or where anything is stored.

pub mod ledger;
mod limit;

pub use limit::{NodeLimit, OVER_LIMIT_ANNOTATION};
