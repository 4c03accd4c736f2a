//! A NodePool that has as many nodes as it may have.

use poolgate_core::api::{HELD_LABEL, KEEP_MARK, NodeLimitMode};
use poolgate_core::budget::Reason;
use poolgate_core::diagnostic::counted;

use super::cause::{Cause, Kind};
use super::seen::Seen;
use crate::status::pools::{KnownLimit, PoolFacts};

/// That poolgate holds the node, and until when.
pub fn held(seen: &Seen<'_>) -> Cause {
    let holds = format!("poolgate holds it (label {HELD_LABEL})");
    let cause = |text: String| Cause::new(Kind::HeldByPoolgate, text);
    let Some((pool, limit)) = seen.pool.and_then(|pool| Some((pool, pool.limit?))) else {
        return cause(format!(
            "{holds}; its NodePool is not known to have a limit, so the reconciler should let it go"
        ));
    };
    let described = described(pool, limit);
    match pool.limit_report(limit).free {
        Some(0) => cause(format!(
            "{holds}, because there is no place for a replacement: {described}{}",
            turn(pool)
        ))
        .change(to_give_room(pool, limit)),
        None => cause(format!(
            "{holds}; how many places are free is not known: {described}"
        )),
        Some(_) if is_kept(seen) => cause(format!(
            "{holds} although there is room, because somebody has set {KEEP_MARK} on it: {described}"
        ))
        .change(format!("To let it go, remove {KEEP_MARK} from the node")),
        Some(_) if pool.has_no_leader() => cause(format!(
            "{holds} although there is room, and no reconciler is the leader to let it go: {described}"
        ))
        .change("To let all nodes go: poolgate reconcile --unhold-all"),
        Some(free) => cause(format!(
            "{holds} although there is room: {described}. No more nodes may go at once than there are free places \
             ({free}), none while a pod waits for the pool, and all when there has been room enough for two minutes"
        )),
    }
}

fn is_kept(seen: &Seen<'_>) -> bool {
    let metadata = seen.node.map(|node| &node.metadata);
    metadata.is_some_and(|metadata| {
        metadata
            .label(KEEP_MARK)
            .or_else(|| metadata.annotation(KEEP_MARK))
            .is_some()
    })
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
    let admitted = pool.outstanding().filter(|&count| count > 0);
    let admitted = admitted.map(|count| format!(" and {count} admitted and not created yet"));
    format!(
        "limits.nodes of NodePool {} is {} ({}){}{}",
        pool.object.metadata.name,
        limit.nodes,
        limit.mode.as_str(),
        claims.unwrap_or_default(),
        admitted.unwrap_or_default()
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
