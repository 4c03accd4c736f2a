//! Checks `spec.limits`: names of resources, amounts, and the number of nodes.

pub mod amount;
pub mod nodes;
mod parsed;
pub mod resource;
pub mod too_small;

use super::findings::Findings;
use crate::diagnostic::FieldPath;
use crate::karpenter::{NodePool, PLAIN_RESOURCES};
pub use parsed::{Limit, Limits, NODES};

/// Checks the limits of a pool, which are parsed already.
pub fn check(
    pool: &NodePool<'_>,
    limits: &Limits<'_>,
    old: Option<&NodePool<'_>>,
    findings: &mut Findings<'_>,
) {
    let Some(object) = pool.limits.present() else {
        return;
    };
    for limit in &limits.written {
        // A value of the wrong type is an error already.
        if limit.parsed.is_some() {
            resource::check(limit.resource, limit.value, object, findings);
        }
        amount::check(pool, limit, findings);
    }
    nodes::check(pool, limits, old, findings);
    too_small::check(pool, limits, findings);
}

/// Whether a limit of 0 or less keeps a pool from launching any node.
pub fn switches_off(pool: &NodePool<'_>) -> bool {
    let limits = pool.limits.present().into_iter().flatten();
    let mut plain = limits.filter(|(resource, _)| PLAIN_RESOURCES.contains(resource));
    plain.any(|(_, value)| {
        let amount = NodePool::limit_value(value);
        amount.is_some_and(|amount| amount.is_zero() || amount.is_negative())
    })
}

/// The path of a limit.
pub fn path(resource: &str) -> FieldPath {
    FieldPath::of(&["spec", "limits"]).key(resource.to_owned())
}
