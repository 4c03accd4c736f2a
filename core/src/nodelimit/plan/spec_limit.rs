//! What `spec.limits.nodes` is to say of a pool that leaves it to poolgate.
//!
//! Karpenter drops a node from its own count as soon as it goes. A Hard limit counts it until it is gone, so at the
//! limit Karpenter would ask for a node that must be denied, again and again, and each error slows down its one
//! provisioner for every pool. With a limit that is lower by the nodes that are going it does not ask.

use super::counts::number;
use super::situation::Situation;

/// What is to be written; none where it is there, or is not poolgate's.
pub(super) fn decide(now: &Situation<'_>) -> Option<u32> {
    let limit = now.pool.limit.filter(|_| now.is_acted_upon())?;
    let claims = now.counts.claims;
    let going = number(claims.counted(limit.mode).saturating_sub(claims.staying));
    let nodes = limit.nodes.saturating_sub(going);
    let is_ours = now.pool.leaves_limit_to_poolgate;
    (is_ours && now.pool.written_nodes != Some(nodes)).then_some(nodes)
}
