//! Node limits that hold: which limit a pool has, in which mode, which claims may still be created, and what keeps
//! the limit.
//!
//! Pure: knows nothing of clusters, clocks or where anything is stored.

mod claim_counts;
pub mod ledger;
mod limit;
pub mod plan;
mod unwritten;

pub use crate::policy::{AT_LIMIT_ANNOTATION, OVER_LIMIT_ANNOTATION};
pub use claim_counts::ClaimCounts;
pub use limit::{MAX_SURGE, NodeLimit};
pub use unwritten::{lacks_mode, unwritten_modes};
