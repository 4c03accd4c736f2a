//! The watch of all NodeClaims.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use parking_lot::Mutex;
use tokio::time::{MissedTickBehavior, interval};

use super::follower::ClaimFollower;
use super::views::ClaimViews;
use crate::cluster::Collection;
use crate::cluster::Watch;
use crate::cluster::WatchMetrics;
use crate::cluster::objects::NODE_CLAIMS;
use crate::runtime::lifecycle::{StatusBoard, StatusLine};

/// How long departed NodeClaims are remembered, at least: longer than a reservation lives.
const DEPARTURES_PERIOD: Duration = Duration::from_mins(2);

/// The watch before it starts.
#[derive(Debug)]
pub struct ClaimWatch {
    meanwhile: &'static str,
    line: StatusLine,
}

impl ClaimWatch {
    /// A watch in whose absence poolgate does this.
    pub fn new(meanwhile: &'static str, board: &StatusBoard) -> Self {
        Self {
            meanwhile,
            line: board.line("NodeClaims"),
        }
    }

    /// Keeps these views up to date until the process stops.
    pub async fn run(self, client: Client, views: Arc<Mutex<ClaimViews>>, metrics: WatchMetrics) {
        let watch = Watch::new("nodeclaims", self.meanwhile, self.line, &metrics);
        let follower = ClaimFollower::new(Arc::clone(&views));
        tokio::join!(
            watch.run(Collection::new(client, NODE_CLAIMS), follower),
            forget_departures(&views),
        );
    }
}

async fn forget_departures(views: &Mutex<ClaimViews>) {
    let mut departures = interval(DEPARTURES_PERIOD);
    departures.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        departures.tick().await;
        views.lock().forget_departures();
    }
}
