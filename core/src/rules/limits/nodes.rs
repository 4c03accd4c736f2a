//! `spec.limits.nodes`: how many nodes a pool may have.

use super::amount::LIMIT_AMOUNT;
use super::{Limit, Limits, NODES, path};
use crate::api::{ClaimCounts, NodeLimitMode, OverLimit};
use crate::json::Json;
use crate::karpenter::{ApiVersion, KarpenterVersion, NodePool};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static LIMIT_NODES_RELEASE: Rule = rule!("limit-nodes-release", Warning, Silent);
pub static LIMIT_BELOW_NODES: Rule = rule!("limit-below-nodes", Warning, Silent);

pub fn check(
    pool: &NodePool<'_>,
    limits: &Limits<'_>,
    old: Option<&NodePool<'_>>,
    findings: &mut Findings<'_>,
) {
    let Some((limit, quantity)) = limits
        .get(NODES)
        .and_then(|limit| Some((limit, limit.quantity()?)))
    else {
        return;
    };
    if !quantity.is_whole() && !quantity.is_negative() {
        findings
            .report(
                &LIMIT_AMOUNT,
                path(NODES),
                limit.value,
                "it must be a whole number of nodes",
            )
            .suggest("write a whole number");
    }
    check_release(pool, limit.value, findings);
    if let Some(old) = old {
        check_lowered(pool, limit, limits, old, findings);
    }
}

fn check_release(pool: &NodePool<'_>, value: &Json<'_>, findings: &mut Findings<'_>) {
    let release = findings.context.release;
    let (title, consequence) = if pool.version == ApiVersion::V1Beta1 {
        (
            "no release of Karpenter with v1beta1 counts nodes".to_owned(),
            "this limits nothing",
        )
    } else if !release.has(KarpenterVersion::STATIC_CAPACITY) {
        (
            format!("Karpenter {release} does not count nodes"),
            "this limits nothing",
        )
    } else if !release.has(KarpenterVersion::NODE_LIMIT) && pool.replicas.is_absent() {
        (
            format!("Karpenter {release} checks it only after the nodes are created"),
            "it can be exceeded",
        )
    } else {
        return;
    };
    findings
        .report(&LIMIT_NODES_RELEASE, path(NODES), value, title)
        .consequence(consequence)
        .suggest(format!(
            "upgrade to Karpenter {} or newer, or run poolgate's gate",
            KarpenterVersion::NODE_LIMIT
        ));
}

/// Compares a limit that this update lowers or sets with the existing nodes.
fn check_lowered(
    pool: &NodePool<'_>,
    limit: &Limit<'_>,
    limits: &Limits<'_>,
    old: &NodePool<'_>,
    findings: &mut Findings<'_>,
) {
    if old
        .node_limit()
        .is_some_and(|before| limit.quantity() >= Some(&before))
    {
        return;
    }
    let value = limit.value;
    let claims = findings.context.claims;
    let (Some(limit), Some(counts)) = (
        limits.node_limit(pool, findings.context.policy),
        claims.or_else(|| reported(old)),
    ) else {
        return;
    };
    let above = counts.counted(limit.mode).saturating_sub(limit.nodes as usize);
    if above == 0 {
        return;
    }
    let are = if above == 1 { "is" } else { "are" };
    let excess_mode = limits.mode.unwrap_or(NodeLimitMode::UNWRITTEN_ABOVE_LIMIT);
    let excess = counts.excess(limit.nodes, excess_mode);
    let title = format!(
        "{}; {above} {are} above the limit",
        described(counts, limit.mode, claims.is_some())
    );
    let finding = findings
        .report(&LIMIT_BELOW_NODES, path(NODES), value, title)
        .consequence(fate(pool, excess, limit.over_limit));
    if excess > 0 {
        let stay = counts.standing(excess_mode);
        let which = if stay == counts.existing {
            "all"
        } else {
            "the others"
        };
        finding.suggest(format!("write {stay} or more if {which} should stay"));
    }
}

/// What will happen to the nodes above the limit that are not on their way out yet.
fn fate(pool: &NodePool<'_>, excess: usize, over_limit: OverLimit) -> String {
    // Karpenter itself scales static pools down to their replicas, and the reconciler ignores them.
    let is_static = !pool.replicas.is_absent();
    match over_limit {
        _ if excess == 0 => "that many are already being removed".to_owned(),
        OverLimit::Terminate if !is_static => {
            format!("the reconciler will terminate {excess}, where it runs (over-limit: terminate)")
        }
        _ => "none is removed for that, and none is launched until enough are gone".to_owned(),
    }
}

/// How many nodes a stored pool has, and the source of the number.
fn described(counts: ClaimCounts, mode: NodeLimitMode, are_claims: bool) -> String {
    let (counted, going) = (counts.counted(mode), counts.existing - counts.standing(mode));
    match mode {
        _ if !are_claims => format!("the pool's status reports {counted} nodes"),
        _ if going == 0 => format!("the pool has {counted} NodeClaims"),
        NodeLimitMode::Hard => {
            format!("the pool has {counted} NodeClaims, {going} of them being deleted")
        }
        NodeLimitMode::Soft => {
            format!("the pool has {counted} NodeClaims and {going} more being disrupted")
        }
    }
}

/// Karpenter's number as counts: it leaves out nodes on their way out.
fn reported(stored: &NodePool<'_>) -> Option<ClaimCounts> {
    let nodes = stored.reported_nodes()?;
    Some(ClaimCounts {
        existing: nodes,
        undeleted: nodes,
        staying: nodes,
    })
}
