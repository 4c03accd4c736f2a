//! A NodePool for which nothing can be launched.

use poolgate_core::budget::Reason;

use super::cause::{Cause, Kind};
use super::seen::Seen;

/// Why no replacement comes, if the pool is not ready and one is needed.
pub fn cause(seen: &Seen<'_>, reasons: &[Reason]) -> Option<Cause> {
    let pool = seen
        .pool
        .filter(|_| reasons.iter().any(|reason| *reason != Reason::Empty))?;
    let name = &pool.object.metadata.name;
    let conditions = &pool.object.status.conditions;
    let not_true = |kind: &str| conditions.get(kind).filter(|_| !conditions.is_true(kind));
    let (kind, what, condition) = not_true("NodeClassReady")
        .map(|condition| (Kind::NodeClassNotReady, "NodeClassReady", condition))
        .or_else(|| not_true("Ready").map(|condition| (Kind::PoolNotReady, "Ready", condition)))?;
    let text = format!(
        "condition {what} of NodePool {name} is {} ({}), and then Karpenter launches no replacement for its nodes",
        condition.status, condition.reason
    );
    Some(Cause::new(kind, text).change(format!("kubectl describe nodepool {name} shows its message")))
}
