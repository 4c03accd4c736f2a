//! A NodePool that has as many nodes as it may have.

use poolgate_core::budget::Reason;
use poolgate_core::diagnostic::counted;
use poolgate_core::karpenter::NodeLimitMode;
use poolgate_core::nodelimit::plan::HELD_LABEL;

use super::cause::{Cause, Kind};
use super::seen::Seen;
use crate::status::pools::{KnownLimit, PoolFacts};

/// That poolgate holds the node, and whose turn it is.
pub fn held(seen: &Seen<'_>) -> Cause {
    let begin = "poolgate holds it (label poolgate.dev/held), because there is no place for a replacement";
    let Some((pool, limit)) = seen.pool.and_then(|pool| Some((pool, pool.limit?))) else {
        let text =
            format!("{begin}; its NodePool is not known to have a limit, so the reconciler should let it go");
        return Cause::new(Kind::HeldByPoolgate, text);
    };
    Cause::new(
        Kind::HeldByPoolgate,
        format!("{begin}: {}{}", described(pool, limit), turn(pool)),
    )
    .change(to_give_room(pool, limit))
}

/// That a replacement has no place, if one is needed and the node is not held for that.
pub fn places(seen: &Seen<'_>, reasons: &[Reason]) -> Option<Cause> {
    let is_replaced = |reason: &Reason| matches!(reason, Reason::Drifted | Reason::Unhealthy);
    let pool = seen.pool.filter(|_| reasons.iter().any(is_replaced))?;
    let limit = pool.limit.filter(|limit| limit.mode == NodeLimitMode::Hard)?;
    let is_held = seen.node?.metadata.label(HELD_LABEL).is_some();
    if is_held || pool.limit_report(limit).free != Some(0) {
        return None;
    }
    Some(
        Cause::new(
            Kind::PoolFull,
            format!(
                "there is no place for a replacement, unless its pods fit on other nodes: {}{}",
                described(pool, limit),
                turn(pool)
            ),
        )
        .change(to_give_room(pool, limit)),
    )
}

fn described(pool: &PoolFacts<'_>, limit: KnownLimit) -> String {
    let claims = pool
        .claims
        .as_ref()
        .map(|claims| format!(", {}", counted(claims.len(), "NodeClaim")));
    format!(
        "limits.nodes of NodePool {} is {} ({}){}",
        pool.object.metadata.name,
        limit.nodes,
        limit.mode.as_str(),
        claims.unwrap_or_default()
    )
}

/// Which node of the pool goes before it.
fn turn(pool: &PoolFacts<'_>) -> String {
    let ledger = pool.ledger().ok().flatten().map(|stored| &stored.ledger);
    if let Some(replaced) = ledger.and_then(|ledger| ledger.replacement()) {
        return format!(". It is the turn of {}, which is being replaced", replaced.node);
    }
    let claims = pool.claims.iter().flatten();
    let open = claims
        .filter(|claim| claim.metadata.deletion_timestamp.is_none())
        .filter(|claim| {
            let node = claim.status.node_name.as_deref().unwrap_or_default();
            let node = pool.nodes.and_then(|nodes| nodes.get(node));
            let is_open = node.is_some_and(|node| node.metadata.label(HELD_LABEL).is_none());
            is_open && claim.status.conditions.is_true("Drifted")
        });
    let open: Vec<&str> = open
        .filter_map(|claim| claim.status.node_name.as_deref())
        .take(3)
        .collect();
    let leaving = pool.claims.iter().flatten();
    let leaving = leaving
        .filter(|claim| claim.metadata.deletion_timestamp.is_some())
        .count();
    match (&*open, leaving) {
        ([], 0) => String::new(),
        ([], leaving) => format!(". Its place comes when one of those on their way out ({leaving}) is gone"),
        (open, _) => format!(". It is the turn of {}", open.join(", ")),
    }
}

fn to_give_room(pool: &PoolFacts<'_>, limit: KnownLimit) -> String {
    format!("To give the pool room: {}", pool.with_room(limit))
}
