//! Node limits that hold: which claims may still be created, and what keeps the limit.
//!
//! Pure: knows nothing of clusters, clocks or where anything is stored.

pub mod ledger;
pub mod plan;
pub mod rollout;
pub mod why;
