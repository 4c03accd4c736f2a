//! What a user would look at.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{KarpenterCluster, NODE_CLAIMS};
use crate::support::recording::{Recording, name};

const NODES: &str = "/api/v1/nodes";
const PODS: &str = "/api/v1/namespaces/default/pods";
// What happens to objects without a namespace is told in this one.
const EVENTS: &str = "/api/v1/namespaces/default/events";

impl KarpenterCluster {
    /// Records every NodeClaim of a pool from now on.
    pub(crate) fn record_claims(&self, pool: &str) -> Recording {
        Recording::start(self.client(), &of_pool(NODE_CLAIMS, pool))
    }

    /// Records every Node of a pool from now on.
    pub(crate) fn record_nodes(&self, pool: &str) -> Recording {
        Recording::start(self.client(), &of_pool(NODES, pool))
    }

    /// The NodeClaims of a pool.
    pub(crate) fn claims(&self, pool: &str) -> Vec<Value> {
        self.client().list(&of_pool(NODE_CLAIMS, pool))
    }

    /// The Nodes of a pool.
    pub(crate) fn nodes(&self, pool: &str) -> Vec<Value> {
        self.client().list(&of_pool(NODES, pool))
    }

    /// How many Nodes of a pool poolgate holds.
    pub(crate) fn held(&self, pool: &str) -> usize {
        let held = |node: &&Value| !node["metadata"]["labels"]["poolgate.dev/held"].is_null();
        self.nodes(pool).iter().filter(held).count()
    }

    /// How many pods of a Deployment are in a phase, such as `Running`.
    pub(crate) fn pods_in_phase(&self, deployment: &str, phase: &str) -> usize {
        let pods = self.pods_of(deployment);
        pods.iter().filter(|pod| pod["status"]["phase"] == phase).count()
    }

    /// The pods of a Deployment.
    pub(crate) fn pods_of(&self, deployment: &str) -> Vec<Value> {
        self.client()
            .list(&format!("{PODS}?labelSelector=app={deployment}"))
    }

    /// The events about an object that give this reason.
    pub(crate) fn events(&self, about: &str, reason: &str) -> Vec<Value> {
        let selector = format!("involvedObject.name={about},reason={reason}");
        self.client().list(&format!("{EVENTS}?fieldSelector={selector}"))
    }

    /// What stands where, in a few lines, for a test that fails.
    pub(crate) fn situation(&self) -> String {
        let list = |path: &str| self.client().list(path);
        let mut lines = Vec::new();
        for claim in list(NODE_CLAIMS) {
            let node = &claim["status"]["nodeName"];
            let deleting = &claim["metadata"]["deletionTimestamp"];
            let marks = &claim["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"];
            let state = |kind: &str| condition(&claim, kind).to_owned();
            lines.push(format!(
                "claim {} node {node} deleting {deleting} drifted {} do-not-disrupt {marks}",
                name(&claim),
                state("Drifted"),
            ));
        }
        for node in list(NODES) {
            lines.push(format!(
                "node {} taints {} do-not-disrupt {}",
                name(&node),
                node["spec"]["taints"],
                node["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"],
            ));
        }
        for pod in list(PODS) {
            lines.push(format!(
                "pod {} {} on {}",
                name(&pod),
                pod["status"]["phase"],
                pod["spec"]["nodeName"],
            ));
        }
        lines.join("\n")
    }
}

/// The names of a pool's NodeClaims.
pub(crate) fn claim_names(cluster: &KarpenterCluster, pool: &str) -> BTreeSet<String> {
    let claims = cluster.claims(pool);
    claims.iter().map(|claim| name(claim).to_owned()).collect()
}

/// The part of a collection that belongs to a pool.
fn of_pool(collection: &str, pool: &str) -> String {
    format!("{collection}?labelSelector=karpenter.sh/nodepool={pool}")
}

/// Whether a Node carries the taint by which Karpenter closes it before it takes it away.
pub(crate) fn disrupted(node: &Value) -> bool {
    let taints = node["spec"]["taints"].as_array();
    taints.is_some_and(|taints| {
        taints
            .iter()
            .any(|taint| taint["key"] == "karpenter.sh/disrupted")
    })
}

/// The status of a condition; empty where there is none.
pub(crate) fn condition<'o>(object: &'o Value, kind: &str) -> &'o str {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.and_then(|all| all.iter().find(|one| one["type"] == kind));
    found.and_then(|one| one["status"].as_str()).unwrap_or_default()
}
