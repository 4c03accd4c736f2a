//! What a user would look at.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::Value;

use super::{KarpenterCluster, NODE_CLAIMS, NODE_POOLS, lock};
use crate::support::recording::{Recording, name};
use crate::support::wait::PATIENCE;

const NODES: &str = "/api/v1/nodes";
const PODS: &str = "/api/v1/namespaces/default/pods";
// Events of objects without a namespace are in this one.
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

    /// Records a NodePool from now on.
    pub(crate) fn record_pool(&self, pool: &str) -> Recording {
        Recording::start(
            self.client(),
            &format!("{NODE_POOLS}?fieldSelector=metadata.name={pool}"),
        )
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

    /// One of Karpenter's own metrics, named with its labels; none while it has none.
    pub(crate) fn karpenter_metric(&self, name: &str) -> Option<f64> {
        let pid = lock(&self.karpenter).id();
        let mut texts = listening(pid).into_iter().filter_map(metrics);
        let text = texts.find(|text| text.contains("karpenter_build_info"))?;
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        value.parse().ok()
    }

    /// What is where, in a few lines, for a test that fails.
    pub(crate) fn situation(&self) -> String {
        let list = |path: &str| self.client().list(path);
        let mut lines = Vec::new();
        for claim in list(NODE_CLAIMS) {
            let node = &claim["status"]["nodeName"];
            let deleting = &claim["metadata"]["deletionTimestamp"];
            let state = |kind: &str| condition(&claim, kind).to_owned();
            lines.push(format!(
                "claim {} node {node} deleting {deleting} drifted {} disrupted {} initialized {} annotations {}",
                name(&claim),
                state("Drifted"),
                state("DisruptionReason"),
                state("Initialized"),
                claim["metadata"]["annotations"],
            ));
        }
        for node in list(NODES) {
            lines.push(format!(
                "node {} taints {} annotations {}",
                name(&node),
                node["spec"]["taints"],
                node["metadata"]["annotations"],
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

/// The ports on which a process listens.
fn listening(pid: u32) -> BTreeSet<u16> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).expect("the files of a process");
    let targets = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
    let sockets: BTreeSet<String> = targets
        .filter_map(|target| {
            Some(
                target
                    .to_str()?
                    .strip_prefix("socket:[")?
                    .strip_suffix(']')?
                    .to_owned(),
            )
        })
        .collect();
    let tables = ["tcp", "tcp6"].map(|table| fs::read_to_string(format!("/proc/{pid}/net/{table}")));
    let tables = tables.map(|table| table.expect("a table of sockets"));
    let lines = tables.iter().flat_map(|table| table.lines());
    lines
        .filter_map(|line| {
            let cells: Vec<&str> = line.split_whitespace().collect();
            let is_its = cells.get(3) == Some(&"0A") && sockets.contains(*cells.get(9)?);
            let (_, port) = cells[1].rsplit_once(':')?;
            is_its.then(|| u16::from_str_radix(port, 16).ok())?
        })
        .collect()
}

/// What is served at `/metrics` on a port of the loopback address.
fn metrics(port: u16) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text)
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

/// The value of an annotation.
pub(crate) fn annotation<'o>(object: &'o Value, key: &str) -> Option<&'o str> {
    object["metadata"]["annotations"][key].as_str()
}

/// The status of a condition; empty where there is none.
pub(crate) fn condition<'o>(object: &'o Value, kind: &str) -> &'o str {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.and_then(|all| all.iter().find(|one| one["type"] == kind));
    found.and_then(|one| one["status"].as_str()).unwrap_or_default()
}
