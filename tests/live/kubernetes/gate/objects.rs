//! NodePools and NodeClaims for the tests of the gate.

use serde_json::{Value, json};

fn node_spec() -> Value {
    json!({
        "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
        "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
    })
}

/// A NodePool, with a limit of its nodes or without.
pub(super) fn pool(name: &str, limit: Option<u32>) -> Value {
    let mut pool = json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": {"spec": node_spec()}},
    });
    if let Some(limit) = limit {
        pool["spec"]["limits"] = json!({"nodes": limit.to_string()});
    }
    pool
}

/// A NodeClaim of a pool.
pub(super) fn claim(name: &str, pool: &str) -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": name, "labels": {"karpenter.sh/nodepool": pool}},
        "spec": node_spec(),
    })
}
