//! A NodePool in which nothing takes the place of a node: it is frozen, has as many nodes as it may have, or is not ready.

use super::{Cause, CauseKind, KnownPool, Seen};
use crate::api::{Freeze, HELD_LABEL, KEEP_MARK};
use crate::budget::Reason;
use crate::diagnostic::counted;
use crate::nodelimit::plan::ClaimState;

/// That poolgate holds the node for a freeze.
pub fn frozen(seen: &Seen<'_>) -> Cause {
    let cause = |text: String| {
        Cause::new(
            CauseKind::Frozen,
            format!("poolgate holds the node, because {text}"),
        )
    };
    let Some(known) = seen.pool.filter(|known| known.pool.is_frozen_at(seen.now)) else {
        return cause("its NodePool was frozen. That is over, so the reconciler should unhold it".into())
            .change("To unhold all nodes while no reconciler runs: poolgate reconcile --unhold-all");
    };
    let name = &known.pool.name;
    let freeze = known.pool.freeze.as_ref();
    let said = freeze.map(Freeze::said).unwrap_or_default();
    cause(format!("NodePool {name} is frozen{said}"))
        .until(freeze.and_then(|freeze| freeze.until))
        .change(format!("To end that: poolgate unfreeze {name}"))
}

/// That poolgate holds the node, and until when.
pub fn held(seen: &Seen<'_>) -> Cause {
    let holds = format!("poolgate holds the node (label {HELD_LABEL})");
    let cause = |text: String| Cause::new(CauseKind::HeldByPoolgate, text);
    let known = seen.pool.and_then(|known| Some((known, described(known)?)));
    let Some((known, described)) = known else {
        return cause(format!(
            "{holds}, but its NodePool has no known limit, so the reconciler should unhold it"
        ));
    };
    match known.free() {
        Some(0) => to_give_room(
            cause(format!(
                "{holds}, because there is no room for a replacement: {described}{}",
                turn(known)
            )),
            known,
        ),
        None => cause(format!(
            "{holds}, and the number of free places is unknown: {described}"
        )),
        Some(_) if seen.state.marks().keep => cause(format!(
            "{holds} although there is room, because {KEEP_MARK} is set on it: {described}"
        ))
        .change(format!("To let it go, remove {KEEP_MARK} from the node")),
        Some(_) if known.has_no_leader => cause(format!(
            "{holds} although there is room, because no reconciler is leading: {described}"
        ))
        .change("To unhold all nodes: poolgate reconcile --unhold-all"),
        Some(free) if known.is_waited_for => Cause::new(
            CauseKind::PendingPods,
            format!("{holds}, because pods wait for the free places ({free}): {described}"),
        ),
        Some(free) => cause(format!(
            "{holds} although there is room: {described}. poolgate unholds at most as many nodes as there are free places \
             ({free}), and all after two minutes with enough room"
        )),
    }
}

/// That a replacement has no place, if one is needed and the node is not held for that.
pub fn full(seen: &Seen<'_>, reasons: &[Reason]) -> Option<Cause> {
    let is_replaced = |reason: &Reason| matches!(reason, Reason::Drifted | Reason::Unhealthy);
    let known = seen.pool.filter(|_| reasons.iter().any(is_replaced))?;
    let is_held = seen.state.node?.marks.any_is_ours();
    if is_held || !known.pool.is_hard() || known.free() != Some(0) {
        return None;
    }
    let cause = Cause::new(
        CauseKind::PoolFull,
        format!(
            "there is no room for a replacement, unless the pods of the node fit on other nodes: {}{}",
            described(known)?,
            turn(known)
        ),
    );
    Some(to_give_room(cause, known))
}

/// Why no replacement comes, if the pool is not ready and one is needed.
pub fn not_ready(seen: &Seen<'_>, reasons: &[Reason]) -> Option<Cause> {
    let known = seen
        .pool
        .filter(|_| reasons.iter().any(|reason| *reason != Reason::Empty))?;
    let name = &known.pool.name;
    let conditions = [
        (
            CauseKind::NodeClassNotReady,
            "NodeClassReady",
            &known.pool.details.class_ready,
        ),
        (CauseKind::PoolNotReady, "Ready", &known.pool.details.ready),
    ];
    let mut given = conditions
        .into_iter()
        .filter_map(|(kind, what, condition)| Some((kind, what, condition.as_ref()?)));
    let (kind, what, condition) = given.find(|(_, _, condition)| !condition.is_true())?;
    let text = format!(
        "condition {what} of NodePool {name} is {} ({}), so Karpenter launches no replacement for its nodes",
        condition.status, condition.reason
    );
    Some(Cause::new(kind, text).change(format!("kubectl describe nodepool {name} shows its message")))
}

/// The limit, and what counts against it.
fn described(known: &KnownPool<'_>) -> Option<String> {
    let limit = known.pool.limit?;
    let claims = known.claims.as_ref();
    let claims = claims.map(|claims| format!(", {}", counted(claims.len(), "NodeClaim")));
    let admitted = known.outstanding().filter(|&count| count > 0);
    let admitted = admitted.map(|count| format!(" and {count} admitted but not created yet"));
    Some(format!(
        "limits.nodes of NodePool {} is {} ({}){}{}",
        known.pool.name,
        limit.nodes,
        limit.mode.as_str(),
        claims.unwrap_or_default(),
        admitted.unwrap_or_default()
    ))
}

/// Which node of the pool goes before it.
fn turn(known: &KnownPool<'_>) -> String {
    let replaced = known
        .ledger
        .as_ref()
        .and_then(|ledger| ledger.replacement.as_ref());
    if let Some(replaced) = replaced {
        return format!(". {} is being replaced first", replaced.node);
    }
    let is_open = |claim: &&ClaimState<'_>| {
        let marks = claim.node.map(|node| node.marks);
        claim.deleted.is_none() && claim.conditions.drifted && marks.is_some_and(|marks| !marks.any_is_ours())
    };
    let claims = || known.claims.iter().flatten();
    let open = claims().filter(is_open).filter_map(|claim| claim.node);
    let open: Vec<&str> = open.map(|node| &*node.name).take(3).collect();
    let leaving = claims().filter(|claim| claim.deleted.is_some()).count();
    match (&*open, leaving) {
        ([], 0) => String::new(),
        ([], leaving) => {
            format!(". There is room when one of the terminating NodeClaims ({leaving}) is gone")
        }
        (open, _) => format!(". {} may go first", open.join(", ")),
    }
}

fn to_give_room(cause: Cause, known: &KnownPool<'_>) -> Cause {
    match known.with_room() {
        Some(command) => cause.change(format!("To give the pool room: {command}")),
        None => cause,
    }
}
