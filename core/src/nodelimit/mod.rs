//! Node limits that hold: which limit a pool has and how it is meant, and what keeps it.
//!
//! Pure: knows nothing of clusters, clocks or where anything is stored.

mod limit;
pub mod plan;

pub use crate::policy::OVER_LIMIT_ANNOTATION;
pub use limit::NodeLimit;
