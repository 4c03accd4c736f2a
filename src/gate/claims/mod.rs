//! The NodeClaims of the cluster, counted by pool: kept up to date by one watch, and listed again where a count must be
//! current.

mod follower;
mod object;
mod views;
mod watch;

pub use object::NodeClaim;
pub use views::{ClaimViews, Listed, Listing};
pub use watch::ClaimWatch;
