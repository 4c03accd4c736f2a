//! What a node limit is worth: `tests/demo-node-limit` draws it, and the README has the numbers.

use std::env;
use std::fs;

use super::overrun::{LIMIT, OVERRUN, Outcome, PODS, ask_for_too_many};
use crate::support::crds::{V1, running_karpenter};

const README: &str = include_str!("../../../README.md");
/// Where to write the picture too.
const PICTURE: &str = "POOLGATE_TEST_PICTURE";

#[test]
fn poolgate_holds_the_limit_that_karpenter_overruns() {
    let overrun = OVERRUN.get();
    let guarded = &overrun.guarded;
    let claims = guarded.cluster.record_claims("general");
    let with_poolgate = ask_for_too_many(guarded, "general", &claims);
    let karpenter = running_karpenter();
    let picture = format!(
        "A NodePool with limits.nodes: {LIMIT}, and {PODS} pods that each need a node. Karpenter {karpenter}.\n\n\
         Karpenter alone\n{}\nKarpenter with poolgate's gate\n{}",
        drawn(overrun.outcome),
        drawn(with_poolgate),
    );
    if let Some(path) = env::var_os(PICTURE) {
        fs::write(path, &picture).expect("the picture can be written");
    }
    let page = README.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = format!(
        "The limit is {LIMIT}, and {PODS} pods each need a node. Karpenter {karpenter} alone makes {} nodes. With the gate it \
         makes {}.",
        overrun.outcome.nodes, with_poolgate.nodes,
    );
    assert!(page.replace(V1, &karpenter).contains(&sentence), "{sentence}");
}

fn drawn(outcome: Outcome) -> String {
    let bar = |nodes: usize| "█".repeat(nodes);
    let Outcome {
        nodes,
        running,
        waiting,
    } = outcome;
    format!(
        "  limit  {} {LIMIT}\n  nodes  {} {nodes}\n  pods   {running} running, {waiting} waiting\n",
        bar(LIMIT),
        bar(nodes),
    )
}
