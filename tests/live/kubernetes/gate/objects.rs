//! NodePools for the tests of the gate, and where they are.

use serde_json::{Value, json};

use crate::support::nodepool::node_pool;

pub const POOLS: &str = "/apis/karpenter.sh/v1/nodepools";
pub const CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";

/// A NodePool, with a limit of its nodes or without.
pub fn pool(name: &str, limit: Option<u32>) -> Value {
    match limit {
        Some(limit) => node_pool(name, &json!({"limits": {"nodes": limit.to_string()}})),
        None => node_pool(name, &json!({})),
    }
}

/// Selects the NodeClaims of a pool.
pub fn of_pool(pool: &str) -> String {
    format!("karpenter.sh/nodepool={pool}")
}
