//! Node limits that hold: which limit a pool has, in which mode, which claims may still be created, and what keeps
//! the limit.
//!
//! Pure: knows nothing of clusters, clocks or where anything is stored.

pub mod ledger;
pub mod plan;
mod unwritten;

pub use unwritten::{lacks_mode, unwritten_modes};
