//! Objects as Karpenter and a scheduler would create them, as large as real ones.

use serde_json::{Value, json};

use crate::POOLS;

pub(crate) fn pool(number: usize, limit: usize) -> String {
    json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": format!("pool-{number}"), "uid": format!("pool-uid-{number}"), "resourceVersion": "2"},
        "spec": {
            "limits": {"nodes": limit},
            "disruption": {"consolidateAfter": "30s", "budgets": [{"nodes": "10%"}, {"nodes": "0", "schedule": "0 9 * * 1-5", "duration": "8h"}]},
            "template": {"spec": {
                "expireAfter": "720h",
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
            }},
        },
    })
    .to_string()
}

pub(crate) fn claim(number: usize, drifted: bool) -> String {
    let status = |is: bool| if is { "True" } else { "False" };
    let condition = |name: &str, is: bool| json!({"type": name, "status": status(is), "reason": name, "message": "", "lastTransitionTime": "2026-11-01T00:00:00Z"});
    json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {
            "name": format!("claim-{number}"),
            "uid": uid("c1a1", number),
            "resourceVersion": "2",
            "creationTimestamp": "2026-11-01T00:00:00Z",
            "labels": labels(number),
            "annotations": {"karpenter.sh/nodepool-hash": "17143345167912317432", "karpenter.sh/nodepool-hash-version": "v3"},
            "finalizers": ["karpenter.sh/termination"],
        },
        "spec": {"expireAfter": "720h", "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]},
        "status": {
            "providerID": format!("aws:///us-west-2a/i-{number:017x}"),
            "nodeName": format!("node-{number}"),
            "capacity": {"cpu": "8", "memory": "32Gi", "pods": "58"},
            "conditions": [condition("Launched", true), condition("Registered", true), condition("Initialized", true), condition("Consolidatable", true), condition("Drifted", drifted)],
        },
    })
    .to_string()
}

pub(crate) fn node(number: usize) -> String {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": format!("node-{number}"),
            "uid": uid("0de0", number),
            "resourceVersion": "2",
            "labels": labels(number),
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
        },
        "spec": {"providerID": format!("aws:///us-west-2a/i-{number:017x}")},
        "status": {
            "allocatable": {"cpu": "7910m", "memory": "31482288Ki", "pods": "58", "ephemeral-storage": "18242267924", "hugepages-2Mi": "0"},
            "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}],
            "images": (0..20).map(|image| json!({"names": [format!("registry.example.com/image-{image}@sha256:0123456789")], "sizeBytes": 123_456_789})).collect::<Vec<_>>(),
        },
    })
    .to_string()
}

pub(crate) fn pod(number: usize, node: usize) -> String {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("app-{number}"),
            "namespace": "default",
            "uid": uid("90d0", number),
            "resourceVersion": "2",
            "labels": {"app": format!("app-{}", number % 500)},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": if number.is_multiple_of(5) { "DaemonSet" } else { "ReplicaSet" }, "name": "app", "uid": "owner"}],
        },
        "spec": {
            "nodeName": format!("node-{node}"),
            "nodeSelector": {"topology.kubernetes.io/zone": "us-west-2a"},
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}],
            "containers": [{"name": "main", "image": "registry.example.com/app", "resources": {"requests": {"cpu": format!("{}m", 100 + number % 500), "memory": "2Gi"}}}],
        },
        "status": {"phase": "Running", "startTime": "2026-11-01T00:00:00Z"},
    })
    .to_string()
}

fn labels(number: usize) -> Value {
    json!({
        "karpenter.sh/nodepool": format!("pool-{}", number % POOLS),
        "karpenter.sh/capacity-type": "spot",
        "karpenter.sh/initialized": "true",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": format!("node-{number}"),
        "node.kubernetes.io/instance-type": "m5.2xlarge",
        "topology.kubernetes.io/zone": "us-west-2a",
        "topology.kubernetes.io/region": "us-west-2",
        "karpenter.k8s.aws/instance-family": "m5",
        "karpenter.k8s.aws/instance-size": "2xlarge",
    })
}

fn uid(kind: &str, number: usize) -> String {
    format!("{number:08x}-{kind}-4000-8000-000000000000")
}
