//! The NodeClaims of the cluster, counted by pool: kept up to date by one watch, and listed again where a count must be
//! current.

mod follower;
mod list;
mod object;
mod views;

pub(crate) use follower::ClaimFollower;
pub(crate) use list::{ClaimList, ListError};
pub(crate) use views::{ClaimViews, Listed};
