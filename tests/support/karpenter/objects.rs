//! What a user would apply: pools, and pods that need nodes.

use serde_json::{Value, json};

use crate::support::nodepool::{self, merge};

/// A machine of two processors.
pub(crate) const SMALL: &str = "small-2x";
/// A machine of four processors.
pub(crate) const MEDIUM: &str = "medium-4x";

/// Three sizes in one zone, each twice as large and as dear as the one before, spot at half the price. Of each
/// machine Karpenter keeps 100m for itself.
pub fn instance_types() -> Value {
    [(SMALL, 2), (MEDIUM, 4), ("large-8x", 8)]
        .into_iter()
        .map(|(name, cpus)| {
            json!({
                "name": name,
                "architecture": "amd64",
                "operatingSystems": ["linux"],
                "resources": {
                    "cpu": cpus.to_string(),
                    "memory": format!("{}Gi", cpus * 2),
                    "ephemeral-storage": "20Gi",
                    "pods": "32",
                },
                "offerings": [offering("on-demand", 0.02 * f64::from(cpus)), offering("spot", 0.01 * f64::from(cpus))],
            })
        })
        .collect()
}

fn offering(capacity_type: &str, price: f64) -> Value {
    json!({
        "Price": price,
        "Available": true,
        "Requirements": [
            {"key": "karpenter.sh/capacity-type", "operator": "In", "values": [capacity_type]},
            {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-a"]},
        ],
    })
}

pub fn node_class() -> Value {
    json!({
        "apiVersion": "karpenter.kwok.sh/v1alpha1",
        "kind": "KWOKNodeClass",
        "metadata": {"name": "default"},
        "spec": {},
    })
}

/// A pool of small on-demand machines that never expire, all of which may be disrupted at once, five seconds
/// after they are no longer needed. `spec` is merged over that.
pub(crate) fn node_pool(name: &str, spec: &Value) -> Value {
    let small = json!({
        "template": {"spec": {
            "requirements": [
                {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
                {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": [SMALL]},
            ],
            "expireAfter": "Never",
        }},
        "disruption": {
            "consolidationPolicy": "WhenEmptyOrUnderutilized",
            "consolidateAfter": "5s",
            "budgets": [{"nodes": "100%"}],
        },
    });
    let mut pool = nodepool::node_pool(name, &small);
    merge(&mut pool["spec"], spec);
    pool
}

/// The same with a node limit in its spec.
pub(crate) fn limited_pool(name: &str, spec: &Value, limit: usize) -> Value {
    let mut pool = node_pool(name, spec);
    pool["spec"]["limits"] = json!({"nodes": limit.to_string()});
    pool
}

/// The same with a node limit that is left to poolgate.
pub(crate) fn annotated_pool(name: &str, spec: &Value, limit: usize) -> Value {
    let mut pool = node_pool(name, spec);
    pool["metadata"]["annotations"] = json!({"poolgate.dev/node-limit": limit.to_string()});
    pool
}

/// Pods of which each needs a node of this pool to itself.
pub(crate) fn one_pod_a_node(name: &str, pool: &str, replicas: u32) -> Value {
    let mut deployment = pods(name, pool, replicas, "1");
    deployment["spec"]["template"]["spec"]["affinity"] = json!({"podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{
            "labelSelector": {"matchLabels": {"app": name}},
            "topologyKey": "kubernetes.io/hostname",
        }],
    }});
    deployment
}

/// Pods that ask for so much of a processor on nodes of this pool, and stop as soon as they get a signal.
pub(crate) fn pods(name: &str, pool: &str, replicas: u32, cpu: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "nodeSelector": {"karpenter.sh/nodepool": pool},
                    "terminationGracePeriodSeconds": 0,
                    "containers": [{
                        "name": "work",
                        "image": "work",
                        "resources": {"requests": {"cpu": cpu}},
                    }],
                },
            },
        },
    })
}

/// Lets so many pods of a Deployment be evicted at once.
pub(crate) fn disruption_budget(deployment: &str, max_unavailable: u32) -> Value {
    json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": deployment, "namespace": "default"},
        "spec": {
            "maxUnavailable": max_unavailable,
            "selector": {"matchLabels": {"app": deployment}},
        },
    })
}
