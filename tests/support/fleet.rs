//! What Karpenter would make, made by hand: NodePools, NodeClaims that are initialized, their nodes, and pods on
//! them, on a control plane where nothing else touches them.

use std::path::PathBuf;
use std::thread::sleep;
use std::time::Instant;

use serde_json::{Value, json};

use super::client::Client;
use super::control_plane::ControlPlane;
use super::crds::V1;
use super::nodeclaim::node_claim;
use super::nodepool::node_pool;
use super::wait::{PATIENCE, pause};

const POOLS: &str = "/apis/karpenter.sh/v1/nodepools";
const CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";
const NODES: &str = "/api/v1/nodes";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// The gate's account.
const GATE: &str = "system:serviceaccount:poolgate-system:poolgate-gate";

/// Where gate and reconciler write.
const NAMESPACE: &str = "poolgate-ledgers";

/// The CPUs of each node, and of a pod that leaves no room for another one of its kind.
const CPUS: &str = "4";
const MOST_CPUS: &str = "3";

/// The objects of a cluster with Karpenter's definitions.
pub(crate) struct Fleet {
    client: Client,
    kubeconfig: PathBuf,
}

impl Fleet {
    /// Installs Karpenter's definitions in an empty control plane.
    pub(crate) fn in_cluster(plane: &ControlPlane) -> Self {
        plane.install_karpenter_crds(V1);
        Self::of(plane)
    }

    /// Another hand on the same objects.
    pub(crate) fn of(plane: &ControlPlane) -> Self {
        Self {
            client: Client::of(plane),
            kubeconfig: plane.kubeconfig().to_owned(),
        }
    }

    /// The API server, by the gate's account.
    pub(crate) fn gate(&self) -> Client {
        Client::acting_as(&self.kubeconfig, GATE)
    }

    /// The API server.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// A pool with a node limit, by which nodes may be disrupted as fast as they like; annotations as given. One that asks for
    /// terminations has a ledger.
    pub(crate) fn pool(&mut self, name: &str, limit: u32, annotations: &Value) {
        let spec = json!({
            "disruption": {
                "consolidateAfter": "0s",
                "consolidationPolicy": "WhenEmptyOrUnderutilized",
                "budgets": [{"nodes": "100%"}],
            },
        });
        let mut pool = node_pool(name, &spec);
        pool["metadata"]["annotations"] = annotations.clone();
        self.client.create(POOLS, &pool);
        // Without a limit the reconciler stores no ledger.
        if annotations["poolgate.dev/over-limit"] == "Terminate" {
            self.open_ledger(name);
        }
        self.limit(name, limit);
    }

    /// The open ledger that the gate would have stored: nothing is terminated without one. One that is there stays.
    pub(crate) fn open_ledger(&mut self, pool: &str) {
        let namespace = json!({"metadata": {"name": NAMESPACE}});
        drop(self.client.try_create("/api/v1/namespaces", &namespace));
        let name = self.client.ledger_name(pool);
        let text = json!({"version": 1, "reservations": {}, "seen": 0}).to_string();
        let ledger = json!({
            "metadata": {"name": name, "labels": {"poolgate.dev/ledger": "true"}},
            "data": {"nodepool": pool, "ledger.json": text},
        });
        let path = format!("/api/v1/namespaces/{NAMESPACE}/configmaps");
        // Where the fence of ledgers is installed, only the gate may write it.
        if self.client.try_create(&path, &ledger).is_err() {
            drop(self.gate().try_create(&path, &ledger));
        }
        let stored = self.client.get(&format!("{path}/{name}"));
        stored.expect("a ledger");
    }

    /// Merges into a pool.
    pub(crate) fn change_pool(&mut self, name: &str, patch: &Value) {
        self.client.merge(&format!("{POOLS}/{name}"), patch);
    }

    /// Changes a pool's limit.
    pub(crate) fn limit(&mut self, name: &str, nodes: u32) {
        self.change_pool(name, &json!({"spec": {"limits": {"nodes": nodes}}}));
    }

    /// A NodeClaim with its node, named alike, and a pod that fills the node.
    pub(crate) fn busy(&mut self, pool: &str, name: &str) {
        self.empty(pool, name);
        self.pod(name, &format!("on-{name}"), MOST_CPUS);
    }

    /// A NodeClaim with its node, named alike, and no pod.
    pub(crate) fn empty(&mut self, pool: &str, name: &str) {
        self.claim(pool, name, &json!({}));
        self.node(pool, name);
    }

    /// A NodeClaim that is initialized; what is given is merged into its metadata.
    pub(crate) fn claim(&mut self, pool: &str, name: &str, metadata: &Value) {
        let mut stored = self.client.create(CLAIMS, &claim(pool, name, metadata));
        let condition = |name: &str| json!({"type": name, "status": "True", "reason": name, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        stored["status"] = json!({
            "providerID": format!("kwok://{name}"),
            "nodeName": name,
            "conditions": [condition("Launched"), condition("Registered"), condition("Initialized"), condition("Drifted")],
        });
        self.client.replace(&format!("{CLAIMS}/{name}/status"), &stored);
    }

    /// A node that is ready.
    pub(crate) fn node(&mut self, pool: &str, name: &str) {
        let node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {
                "karpenter.sh/nodepool": pool,
                "karpenter.sh/initialized": "true",
                "kubernetes.io/hostname": name,
            }},
            "spec": {"providerID": format!("kwok://{name}")},
            "status": {
                "allocatable": {"cpu": CPUS, "memory": "8Gi", "pods": "110"},
                "capacity": {"cpu": CPUS, "memory": "8Gi", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        });
        self.client.create(NODES, &node);
    }

    /// A pod on a node.
    pub(crate) fn pod(&mut self, node: &str, name: &str, cpus: &str) {
        self.pod_with(node, name, cpus, &json!({}));
    }

    /// A pod on a node, with annotations.
    pub(crate) fn pod_with(&mut self, node: &str, name: &str, cpus: &str, annotations: &Value) {
        let pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "annotations": annotations},
            "spec": {
                "nodeName": node,
                "containers": [{
                    "name": "main",
                    "image": "registry.example.com/app",
                    "resources": {"requests": {"cpu": cpus}},
                }],
            },
        });
        self.client.create(PODS, &pod);
    }

    /// Deletes a pod at once.
    pub(crate) fn remove_pod(&mut self, name: &str) {
        self.client.delete(&format!("{PODS}/{name}?gracePeriodSeconds=0"));
    }

    /// Deletes a node; its claim stays.
    pub(crate) fn remove_node(&mut self, name: &str) {
        self.client.delete(&format!("{NODES}/{name}"));
    }

    /// Merges into a node.
    pub(crate) fn change_node(&mut self, name: &str, patch: &Value) {
        self.client.merge(&format!("{NODES}/{name}"), patch);
    }

    /// A node as it is stored.
    pub(crate) fn stored_node(&mut self, name: &str) -> Value {
        self.client
            .get(&format!("{NODES}/{name}"))
            .expect("a node that is there")
    }

    /// The names of a pool's nodes that carry all of poolgate's marks; panics where one carries only some.
    #[track_caller]
    pub(crate) fn held(&mut self, pool: &str) -> Vec<String> {
        let mut held = Vec::new();
        for node in self.client.list(&format!("{NODES}{}", of_pool(pool))) {
            let metadata = &node["metadata"];
            let label = metadata["labels"]["poolgate.dev/held"].is_string();
            let ours = metadata["annotations"]["poolgate.dev/held-for"].is_string();
            let closed = metadata["annotations"]["karpenter.sh/do-not-disrupt"] == "true";
            assert_eq!(label, ours, "half of the marks: {metadata}");
            assert!(!label || closed, "half of the marks: {metadata}");
            if label {
                held.push(name_of(&node));
            }
        }
        held
    }

    /// Waits until exactly these nodes of a pool are held.
    #[track_caller]
    pub(crate) fn wait_until_held(&mut self, pool: &str, expected: &[&str]) {
        let begun = Instant::now();
        let mut held = self.held(pool);
        while held != expected {
            let waited = begun.elapsed();
            assert!(
                waited < PATIENCE,
                "waited {PATIENCE:?} for {expected:?} to be held: {held:?} are"
            );
            sleep(pause(waited));
            held = self.held(pool);
        }
    }

    /// The names of a pool's NodeClaims that are not on their way out.
    pub(crate) fn living_claims(&mut self, pool: &str) -> Vec<String> {
        let claims = self
            .client
            .list(&format!("{CLAIMS}{}", of_pool(pool)))
            .into_iter();
        claims
            .filter(|claim| claim["metadata"]["deletionTimestamp"].is_null())
            .map(|claim| name_of(&claim))
            .collect()
    }

    /// The names of a pool's NodeClaims.
    pub(crate) fn claims(&mut self, pool: &str) -> Vec<String> {
        let claims = self.client.list(&format!("{CLAIMS}{}", of_pool(pool)));
        claims.iter().map(name_of).collect()
    }

    /// Lets a claim go that a finalizer held.
    pub(crate) fn let_go(&mut self, claim: &str) {
        self.client.merge(
            &format!("{CLAIMS}/{claim}"),
            &json!({"metadata": {"finalizers": null}}),
        );
    }

    /// A NodeClaim for which no machine was ordered yet.
    pub(crate) fn unlaunched(&mut self, pool: &str, name: &str, metadata: &Value) {
        self.client.create(CLAIMS, &claim(pool, name, metadata));
    }

    /// The reasons and messages of the events on a pool, with their counts.
    pub(crate) fn events(&mut self, pool: &str) -> Vec<(String, String, i64)> {
        let path = format!("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name={pool}");
        let events = self.client.list(&path).into_iter();
        events
            .map(|event| {
                let text = |field: &str| event[field].as_str().expect("a text").to_owned();
                (
                    text("reason"),
                    text("message"),
                    event["count"].as_i64().expect("a count"),
                )
            })
            .collect()
    }
}

fn of_pool(pool: &str) -> String {
    format!("?labelSelector=karpenter.sh/nodepool={pool}")
}

fn claim(pool: &str, name: &str, metadata: &Value) -> Value {
    let mut claim = node_claim(name, pool);
    for (field, value) in metadata.as_object().expect("fields") {
        claim["metadata"][field] = value.clone();
    }
    claim
}

fn name_of(object: &Value) -> String {
    object["metadata"]["name"].as_str().expect("a name").to_owned()
}
