//! The watch of all NodeClaims.

use std::sync::Arc;

use parking_lot::Mutex;

use super::object::NodeClaim;
use super::views::{ClaimViews, Listing};
use crate::cluster::watch::Follower;

/// Keeps the views up to date.
pub struct ClaimFollower {
    views: Arc<Mutex<ClaimViews>>,
    listing: Listing,
    /// Whether the listing is complete, and only its version is missing.
    is_listed: bool,
}

impl ClaimFollower {
    /// Keeps these views.
    pub fn new(views: Arc<Mutex<ClaimViews>>) -> Self {
        Self {
            views,
            listing: Listing::new(),
            is_listed: false,
        }
    }
}

impl Follower for ClaimFollower {
    type Object = NodeClaim;

    fn list_begins(&mut self) {
        self.listing = Listing::new();
        self.is_listed = false;
    }

    fn listed(&mut self, claim: NodeClaim) {
        if let Some((pool, uid, claim)) = claim.into_parts() {
            self.listing.entry(pool).or_default().push((uid, claim));
        }
    }

    fn list_ends(&mut self) {
        self.is_listed = true;
    }

    fn changed(&mut self, claim: NodeClaim) {
        if let Some((pool, uid, claim)) = claim.into_parts() {
            self.views.lock().upsert(&pool, uid, claim);
        }
    }

    fn gone(&mut self, claim: &NodeClaim) {
        let version = claim.metadata.version_number();
        if let (Some((pool, uid, _)), Some(version)) = (claim.clone().into_parts(), version) {
            self.views.lock().remove(&pool, &uid, version);
        }
    }

    fn complete_up_to(&mut self, version: &str) {
        // A version that is not a number has no order. Without an order every count needs a list of its own.
        let Ok(version) = version.parse() else {
            return self.lost();
        };
        let mut views = self.views.lock();
        if std::mem::take(&mut self.is_listed) {
            views.relist_all(std::mem::take(&mut self.listing), version);
        } else {
            views.advance_to(version);
        }
    }

    fn lost(&mut self) {
        self.views.lock().lost();
    }
}
