//! Other pools, without a limit, and how long what Karpenter does for them takes: it disrupts nodes in one loop for the
//! whole cluster.

use std::fmt;
use std::time::{Duration, Instant};

use serde_json::json;

use super::guarded::Guarded;
use crate::support::karpenter::KarpenterCluster;
use crate::support::karpenter::look::{claim_names, condition};
use crate::support::karpenter::objects::{node_pool, one_pod_a_node};
use crate::support::recording::name;

/// A node of this pool becomes empty.
const EMPTY: &str = "beside-empty";
/// A node of this pool drifts.
const DRIFTED: &str = "beside-drifted";
/// A node of this pool breaks.
const BROKEN: &str = "beside-broken";
/// A pod of this pool has no node.
const ASKING: &str = "beside-asking";

/// Four pools, one for each thing that Karpenter may be late with.
pub struct Neighbours<'g> {
    guarded: &'g Guarded,
    rounds: u32,
}

/// How long they waited, from one moment on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Waits {
    /// Until an empty node was gone.
    pub empty: Duration,
    /// Until a drifted node was gone, and had a successor before that.
    pub drifted: Duration,
    /// The same of a broken one; for half a minute of it Karpenter hopes.
    pub broken: Duration,
    /// Until a pod ran on a node of its own.
    pub pod: Duration,
}

impl fmt::Display for Waits {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            empty,
            drifted,
            broken,
            pod,
        } = self;
        write!(
            text,
            "empty node {empty:.1?}, drifted {drifted:.1?}, broken {broken:.1?}, pending pod {pod:.1?}"
        )
    }
}

impl Waits {
    /// Until the last of three nodes was gone.
    pub fn last_node(&self) -> Duration {
        self.empty.max(self.drifted).max(self.broken)
    }

    /// The longest of each.
    pub fn longest(of: &[Self]) -> Self {
        let longest = |wait: fn(&Self) -> Duration| of.iter().map(wait).max().unwrap_or_default();
        Self {
            empty: longest(|waits| waits.empty),
            drifted: longest(|waits| waits.drifted),
            broken: longest(|waits| waits.broken),
            pod: longest(|waits| waits.pod),
        }
    }
}

impl<'g> Neighbours<'g> {
    /// Creates the pools, and their nodes.
    pub fn create(guarded: &'g Guarded) -> Self {
        let when_empty = json!({"disruption": {"consolidationPolicy": "WhenEmpty"}});
        for pool in [EMPTY, DRIFTED, BROKEN, ASKING] {
            guarded.cluster.create_pool(&node_pool(pool, &when_empty));
            let pods = u32::from(pool != ASKING);
            guarded.cluster.deploy(&one_pod_a_node(pool, pool, pods));
        }
        let neighbours = Self { guarded, rounds: 0 };
        neighbours.restore();
        neighbours
    }

    /// Gives each the nodes again that it had at the beginning, and waits until they can show what becomes of them.
    pub fn restore(&self) {
        self.guarded.cluster.scale(EMPTY, 1);
        self.guarded
            .wait_for("the neighbours to have their nodes", |cluster| {
                let has_one = |pool| {
                    let claims = cluster.claims(pool);
                    let is_initialized = |claim| condition(claim, "Initialized") == "True";
                    claims.len() == 1 && claims.iter().all(is_initialized) && is_running(cluster, pool, 1)
                };
                [EMPTY, DRIFTED, BROKEN].into_iter().all(has_one).then_some(())
            });
    }

    /// Lets it all happen at once, and waits until Karpenter has dealt with it.
    pub fn wait(&mut self) -> Waits {
        self.rounds += 1;
        let cluster = &self.guarded.cluster;
        let [drifted, broken] = [DRIFTED, BROKEN].map(|pool| claim_names(cluster, pool));
        let node = cluster.nodes(BROKEN);
        let begun = Instant::now();
        cluster.scale(EMPTY, 0);
        cluster.drift(DRIFTED, &format!("round-{}", self.rounds));
        cluster.break_node(name(&node[0]));
        cluster.scale(ASKING, self.rounds);
        let mut waits = [None; 4];
        self.guarded.wait_for("the neighbours to be served", |cluster| {
            let is_replaced = |pool, old| {
                let now = claim_names(cluster, pool);
                !now.is_empty() && now.is_disjoint(old)
            };
            let is_over = [
                claim_names(cluster, EMPTY).is_empty(),
                is_replaced(DRIFTED, &drifted),
                is_replaced(BROKEN, &broken),
                is_running(cluster, ASKING, self.rounds),
            ];
            for (wait, is_over) in waits.iter_mut().zip(is_over) {
                if is_over && wait.is_none() {
                    *wait = Some(begun.elapsed());
                }
            }
            waits.iter().all(Option::is_some).then_some(())
        });
        let [empty, drifted, broken, pod] = waits.map(Option::unwrap_or_default);
        Waits {
            empty,
            drifted,
            broken,
            pod,
        }
    }
}

fn is_running(cluster: &KarpenterCluster, deployment: &str, pods: u32) -> bool {
    u32::try_from(cluster.pods_in_phase(deployment, "Running")) == Ok(pods)
}
