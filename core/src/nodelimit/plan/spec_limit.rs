//! The value of `spec.limits.nodes` for a pool that leaves it to poolgate.
//!
//! Karpenter drops a node from its own count as soon as it is being deleted or disrupted. A Hard limit counts it
//! until it is gone, so at the limit Karpenter would request a node that must be denied, again and again, and each
//! error slows down its one provisioner for every pool. If the limit is lower by the number of nodes that are
//! going, Karpenter does not request one.

use super::counts::number;
use super::situation::Situation;

/// The value to write; `None` if it is there already, or the pool does not leave it to poolgate.
pub(super) fn decide(now: &Situation<'_>) -> Option<u32> {
    let limit = now.pool.limit.filter(|_| now.is_acted_upon())?;
    let claims = now.counts.claims;
    let going = number(claims.counted(limit.mode).saturating_sub(claims.staying));
    let nodes = limit.nodes.saturating_sub(going);
    let is_ours = now.pool.leaves_limit_to_poolgate;
    (is_ours && now.pool.written_nodes != Some(nodes)).then_some(nodes)
}
