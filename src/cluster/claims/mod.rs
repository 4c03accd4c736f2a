//! The NodeClaims of the cluster, counted by pool: kept up to date by one watch, and listed again where a count must be
//! current.

mod follower;
mod object;
mod views;

pub(crate) use follower::ClaimFollower;
pub(crate) use object::NodeClaim;
pub(crate) use views::{ClaimViews, Listed};
