//! Another pool beside a full one, and how long its pods wait for a node.

use std::time::{Duration, Instant};

use serde_json::json;

use super::guarded::Guarded;
use crate::support::karpenter::objects::{node_pool, one_pod_a_node};

/// How long to wait for one node.
const PATIENCE: Duration = Duration::from_secs(90);

const NAME: &str = "beside";

/// A pool with room, and pods that ask it for nodes one after the other.
pub struct Beside<'g> {
    guarded: &'g Guarded,
    pods: u32,
}

impl<'g> Beside<'g> {
    pub fn create(guarded: &'g Guarded) -> Self {
        let cluster = &guarded.cluster;
        cluster.create_pool(&node_pool(NAME, &json!({"limits": {"nodes": "100"}})));
        cluster.deploy(&one_pod_a_node(NAME, NAME, 0));
        Self { guarded, pods: 0 }
    }

    /// Asks for one more node, and returns how long it took until all nodes were there, or that they are not.
    pub fn ask(&mut self) -> Duration {
        let begun = Instant::now();
        self.pods += 1;
        self.guarded.cluster.scale(NAME, self.pods);
        while !self.is_served() && begun.elapsed() < PATIENCE {
            self.guarded.pause();
        }
        begun.elapsed()
    }

    /// The same so many times.
    pub fn ask_times(&mut self, times: usize) -> Vec<Duration> {
        (0..times).map(|_| self.ask()).collect()
    }

    /// Whether every pod has its node.
    pub fn is_served(&self) -> bool {
        let running = self.guarded.cluster.pods_in_phase(NAME, "Running");
        u32::try_from(running) == Ok(self.pods)
    }
}
