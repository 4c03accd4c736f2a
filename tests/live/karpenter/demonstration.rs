//! What a node limit is worth: `tests/demo-node-limit` shows it, and the README prints it.

use std::env;
use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use super::guarded::{Guarded, PROVISION};
use crate::support::crds::{V1, running_karpenter};
use crate::support::karpenter::KarpenterCluster;
use crate::support::karpenter::look::of_pool;
use crate::support::karpenter::objects::{node_pool, one_pod_a_node};
use crate::support::readme;
use crate::support::recording::{counts, peak};

const LIMIT: usize = 5;
const PODS: u32 = 30;
/// For how long the number of nodes has to stand before it counts as the end.
const STEADY: Duration = Duration::from_secs(15);

/// Where to write the picture too.
const PICTURE: &str = "POOLGATE_TEST_PICTURE";

#[test]
fn poolgate_holds_the_limit_that_karpenter_overruns() {
    let alone = {
        let mut cluster = KarpenterCluster::upstream();
        overrun(&mut cluster)
    };
    let with_poolgate = {
        let mut guarded = Guarded::gate_alone();
        overrun(&mut guarded.cluster)
    };
    let karpenter = running_karpenter();
    let picture = format!(
        "A NodePool with limits.nodes: {LIMIT}, and {PODS} pods that each need a node. Karpenter {karpenter}.\n\n\
         Karpenter alone\n{}\nKarpenter with poolgate's gate\n{}",
        alone.drawn(),
        with_poolgate.drawn(),
    );
    if let Some(path) = env::var_os(PICTURE) {
        fs::write(path, &picture).expect("the picture can be written");
    }
    let command = "$ tests/demo-node-limit\n";
    let shown = readme::block("console", command).replace(V1, &karpenter);
    assert_eq!(shown, format!("{command}{picture}"));
}

/// How it stood in the end, and at its worst.
struct Outcome {
    /// The most NodeClaims at any moment.
    nodes: usize,
    running: usize,
    waiting: usize,
}

impl Outcome {
    fn drawn(&self) -> String {
        let bar = |nodes: usize| "█".repeat(nodes);
        let Self {
            nodes,
            running,
            waiting,
        } = self;
        format!(
            "  limit  {} {LIMIT}\n  nodes  {} {nodes}\n  pods   {running} running, {waiting} waiting\n",
            bar(LIMIT),
            bar(*nodes),
        )
    }
}

fn overrun(cluster: &mut KarpenterCluster) -> Outcome {
    let claims = cluster.record_claims();
    cluster.create_pool(&node_pool(
        "general",
        &json!({"limits": {"nodes": LIMIT.to_string()}}),
    ));
    cluster.deploy(&one_pod_a_node("web", "general", PODS));
    let mut since = (Instant::now(), 0);
    let running = cluster.wait_for("the number of pods to be steady", PROVISION, |cluster| {
        let running = cluster.pods_in_phase("web", "Running");
        if running != since.1 {
            since = (Instant::now(), running);
        }
        (running > 0 && since.0.elapsed() > STEADY).then_some(running)
    });
    let history = counts(&claims.changes(cluster.client()), of_pool("general"));
    Outcome {
        nodes: peak(&history),
        running,
        waiting: cluster.pods_in_phase("web", "Pending"),
    }
}
