//! A cluster in which Karpenter alone has overrun a node limit before poolgate came.

use std::time::Duration;

use serde_json::{Value, json};

use super::guarded::Guarded;
use super::shared::Shared;
use crate::support::karpenter::look::condition;
use crate::support::karpenter::objects::{node_pool, one_pod_a_node};
use crate::support::recording::Recording;

/// The limit that is overrun.
pub const LIMIT: usize = 5;
/// How many pods ask for a node each.
pub const PODS: u32 = 30;

/// The longest that Karpenter collects pods before it makes nodes for them.
const BATCH: Duration = Duration::from_secs(10);

/// The name of the pool that was overrun, and of the Deployment that overran it.
pub const ALONE: &str = "alone";

pub static OVERRUN: Shared<Overrun> = Shared::among(5, Overrun::start);

/// The cluster, with poolgate. Its definitions are as Karpenter publishes them, so the policy says that limits are
/// Hard.
pub struct Overrun {
    pub guarded: Guarded,
    /// What became of the pool with Karpenter alone.
    pub outcome: Outcome,
    /// The NodeClaims of the pool from its beginning.
    pub claims: Recording,
}

/// What became of a pool.
#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    /// The most NodeClaims at any moment.
    pub nodes: usize,
    /// Pods that run in the end.
    pub running: usize,
    /// Pods that still wait then.
    pub waiting: usize,
}

impl Overrun {
    fn start() -> Self {
        let guarded = Guarded::unguarded();
        let claims = guarded.cluster.record_claims(ALONE);
        let outcome = ask_for_too_many(&guarded, ALONE, &claims);
        guarded.guard();
        guarded.review_pools();
        guarded.reconcile(&["--settle=5s", "--max-terminations-per-minute=4"]);
        Self {
            guarded,
            outcome,
            claims,
        }
    }
}

/// Makes a pool for pods that ask for more nodes than it may have, and waits until nothing changes any more. The pods
/// come first: then Karpenter makes nodes for all of them at once, however slow the machine is.
pub fn ask_for_too_many(guarded: &Guarded, name: &str, claims: &Recording) -> Outcome {
    let limit = json!({"limits": {"nodes": LIMIT.to_string()}});
    guarded.cluster.deploy(&one_pod_a_node(name, name, PODS));
    guarded.wait_for("pods for which there is no node", |cluster| {
        let waits = |pod: &&Value| condition(pod, "PodScheduled") == "False";
        let waiting = cluster.pods_of(name).iter().filter(waits).count();
        (waiting == PODS as usize).then_some(())
    });
    guarded.cluster.create_pool(&node_pool(name, &limit));
    let standing = || {
        let running = guarded.cluster.pods_in_phase(name, "Running");
        let waiting = guarded.cluster.pods_in_phase(name, "Pending");
        (running, waiting, guarded.cluster.claims(name).len())
    };
    let mut before = standing();
    let (running, waiting) = loop {
        guarded.wait_for("a pod on each node", |_| {
            let (running, _, nodes) = standing();
            (running >= LIMIT && running == nodes).then_some(())
        });
        let now @ (running, waiting, _) = standing();
        if waiting == 0 || now == before {
            break (running, waiting);
        }
        before = now;
        guarded.linger(BATCH);
    };
    Outcome {
        nodes: guarded.most(claims),
        running,
        waiting,
    }
}
