//! NodeClaims as Karpenter would make them.

use serde_json::{Value, json};

use super::nodepool::node_pool;

/// A NodeClaim of a pool with no more than it must have.
pub(crate) fn node_claim(name: &str, pool: &str) -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": name, "labels": {"karpenter.sh/nodepool": pool}},
        "spec": node_pool(pool, &json!({}))["spec"]["template"]["spec"],
    })
}
