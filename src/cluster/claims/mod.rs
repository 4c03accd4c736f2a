//! The NodeClaims of the cluster, counted by pool: kept up to date by one watch, and read anew where a count must be
//! as of now.

mod follower;
mod list;
mod object;
mod views;

pub(super) use follower::ClaimFollower;
pub(super) use list::{ClaimList, ListError};
pub(super) use object::api;
pub(super) use views::ClaimViews;
