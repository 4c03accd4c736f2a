//! NodePools for the tests of the gate.

use serde_json::{Value, json};

use crate::support::nodepool::node_pool;

/// A NodePool, with a limit of its nodes or without.
pub(super) fn pool(name: &str, limit: Option<u32>) -> Value {
    match limit {
        Some(limit) => node_pool(name, &json!({"limits": {"nodes": limit.to_string()}})),
        None => node_pool(name, &json!({})),
    }
}

/// Selects the NodeClaims of a pool.
pub(super) fn of_pool(pool: &str) -> String {
    format!("karpenter.sh/nodepool={pool}")
}
