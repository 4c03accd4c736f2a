//! `spec.limits.nodes`: how many nodes a pool may have.

use super::amount::LIMIT_AMOUNT;
use super::{Limit, Limits, NODES, path};
use crate::api::OverLimit;
use crate::diagnostic::{ErrorType, counted};
use crate::json::Json;
use crate::karpenter::{ApiVersion, KarpenterVersion, NodePool};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static LIMIT_NODES_RELEASE: Rule = rule!("limit-nodes-release", Warning, Silent);
pub static LIMIT_BELOW_USE: Rule = rule!("limit-below-use", Warning, Silent);

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
                "a limit of nodes must be a whole number",
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
            "the limit has no effect",
        )
    } else if !release.has(KarpenterVersion::STATIC_CAPACITY) {
        (
            format!("Karpenter {release} does not count nodes"),
            "the limit has no effect",
        )
    } else if !release.has(KarpenterVersion::NODE_LIMIT) && pool.replicas.is_absent() {
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

/// Compares a limit that this update lowers or sets with the nodes that the stored pool reports.
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
    let (Some(limit), Some(nodes)) = (
        limits.node_limit(pool, findings.context.policy),
        old.reported_nodes(),
    ) else {
        return;
    };
    let above = nodes.saturating_sub(limit.nodes as usize);
    if above == 0 {
        return;
    }
    let title = format!("the pool's status reports {nodes} nodes, {above} above the limit");
    findings
        .report(&LIMIT_BELOW_USE, path(NODES), value, title)
        .consequence(fate(pool, above, limit.over_limit))
        .suggest(format!("write {nodes} or more to keep all nodes"));
}

/// Compares the limits of other resources that this update lowers or sets with what the stored pool uses.
pub fn check_use(limits: &Limits<'_>, old: &NodePool<'_>, findings: &mut Findings<'_>) {
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

/// The fate of the nodes above the limit.
fn fate(pool: &NodePool<'_>, above: usize, over_limit: OverLimit) -> String {
    // Karpenter itself scales static pools down to their replicas, and the reconciler ignores them.
    let is_static = !pool.replicas.is_absent();
    match over_limit {
        OverLimit::Terminate if !is_static => {
            format!(
                "a running reconciler terminates {} (over-limit: terminate)",
                counted(above, "node")
            )
        }
        _ => "no node is removed, but none is launched until the pool is below the limit".to_owned(),
    }
}
