//! Node limits that hold: which limit a pool has, in which mode, which claims may still be created, and what keeps
//! the limit.
//!
//! Pure: knows nothing of clusters, clocks or where anything is stored.

pub mod ledger;
mod limit;
pub mod plan;

pub use crate::policy::{AT_LIMIT_ANNOTATION, OVER_LIMIT_ANNOTATION};
pub use limit::{ClaimCounts, MAX_SURGE, NodeLimit, lacks_mode, unwritten_modes};
