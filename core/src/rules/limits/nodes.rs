//! `spec.limits.nodes`: how many nodes a pool may have.

use super::amount::LIMIT_AMOUNT;
use super::{NODES, PoolLimits, path};
use crate::api::{NodeLimit, OverLimit};
use crate::diagnostic::{ErrorType, counted};
use crate::facts::KarpenterVersion;
use crate::json::Json;
use crate::pool::NodePool;
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static LIMIT_NODES_RELEASE: Rule = rule!("limit-nodes-release", Warning, Silent);
pub static LIMIT_BELOW_USE: Rule = rule!("limit-below-use", Warning, Silent);

pub fn check(pool: &NodePool<'_>, limits: &PoolLimits<'_>, findings: &mut Findings<'_>) {
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
                "a limit of nodes must be a whole number",
            )
            .suggest("write a whole number");
    }
    check_release(pool, limit.value, findings);
}

fn check_release(pool: &NodePool<'_>, value: &Json<'_>, findings: &mut Findings<'_>) {
    let release = findings.context.release;
    let is_static = release.has(KarpenterVersion::STATIC_CAPACITY) && !pool.replicas.is_absent();
    let (title, consequence) = if !release.has(KarpenterVersion::V1_STORED) {
        (
            format!("Karpenter {release} does not count nodes"),
            "the limit has no effect",
        )
    } else if !release.has(KarpenterVersion::NODE_LIMIT) && !is_static {
        (
            format!("Karpenter {release} checks the limit only after it creates nodes"),
            "the pool can exceed the limit",
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

/// Compares the nodes that the stored pool reports with a limit that this update sets or lowers, or above which nodes are
/// terminated from now on.
pub fn check_lowered(
    pool: &NodePool<'_>,
    limits: &PoolLimits<'_>,
    old: &NodePool<'_>,
    findings: &mut Findings<'_>,
) {
    let policy = findings.context.policy;
    let (Some(written), Some(limit), Some(nodes)) = (
        limits.nodes(),
        limits.node_limit(pool, policy),
        old.reported_nodes(),
    ) else {
        return;
    };
    let is_stricter = NodeLimit::lowest_of(old, policy.over_limit).is_none_or(|before| {
        limit.nodes < before.nodes || terminates(pool, limit) && !terminates(old, before)
    });
    let above = nodes.saturating_sub(limit.nodes as usize);
    if above == 0 || !is_stricter {
        return;
    }
    let limit_name = if limits.schedule.is_some() {
        "the schedule's lowest limit"
    } else {
        "the limit"
    };
    let title = format!("the pool's status reports {nodes} nodes, {above} above {limit_name}");
    let fate = if terminates(pool, limit) {
        format!(
            "a running reconciler terminates {} (over-limit: terminate)",
            counted(above, "node")
        )
    } else {
        "no node is removed, but none is launched until the pool is below the limit".to_owned()
    };
    findings
        .report(&LIMIT_BELOW_USE, limits.nodes_path(), written.value, title)
        .consequence(fate)
        .suggest(format!("write {nodes} or more to keep all nodes"));
}

/// True if nodes above the limit are terminated. Karpenter itself scales static pools down to their replicas, and the
/// reconciler ignores them.
fn terminates(pool: &NodePool<'_>, limit: NodeLimit) -> bool {
    limit.over_limit == OverLimit::Terminate && pool.replicas.is_absent()
}

/// Compares the limits of other resources that this update lowers or sets with what the stored pool uses.
pub fn check_use(limits: &PoolLimits<'_>, old: &NodePool<'_>, findings: &mut Findings<'_>) {
    for limit in limits.written.iter().filter(|limit| limit.resource != NODES) {
        let before = old.limits.present().and_then(|limits| limits.get(limit.resource));
        let before = before.and_then(NodePool::limit_value);
        let is_lower = before.is_none_or(|before| limit.quantity() < Some(&before));
        let (Some(most), Some(used)) = (limit.quantity().filter(|_| is_lower), old.used(limit.resource))
        else {
            continue;
        };
        if NodePool::limit_value(used).is_some_and(|used| used > *most) {
            let shown = ErrorType::note(used);
            let shown = shown.value().unwrap_or_default();
            findings
                .report(
                    &LIMIT_BELOW_USE,
                    path(limit.resource),
                    limit.value,
                    format!("the pool's status reports {} in use", shown.trim_matches('"')),
                )
                .consequence(
                    "no node is removed, but none is launched until the pool uses less than the limit",
                )
                .suggest(format!("write {shown} or more to keep all nodes"));
        }
    }
}
