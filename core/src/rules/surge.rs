//! The annotation with which a pool may have more nodes than its limit while it replaces some.

use super::choices::{check_number, is_set, path};
use super::findings::Findings;
use super::limits::Limits;
use crate::api::{MAX_SURGE, NODE_LIMIT_ANNOTATION, NodeLimitMode, SURGE_ANNOTATION};
use crate::diagnostic::ErrorType;
use crate::karpenter::{Field, NodePool};
use crate::rules::rule::Rule;

pub static SURGE: Rule = rule!("surge", Error, Poolgate);
pub static SURGE_UNUSED: Rule = rule!("surge-unused", Warning, Poolgate);

pub fn check(pool: &NodePool<'_>, limits: &Limits<'_>, findings: &mut Findings<'_>) {
    let number = check_number(&SURGE, pool, SURGE_ANNOTATION, "1", findings);
    if let Some(number) = number.filter(|number| *number > MAX_SURGE) {
        let why = format!("no surge is larger than {MAX_SURGE}, so this counts as {MAX_SURGE}");
        findings
            .report(&SURGE, path(SURGE_ANNOTATION), number.to_string().as_str(), why)
            .suggest(format!("write {MAX_SURGE} or less"));
    }
    let Some(written) = pool.annotation(SURGE_ANNOTATION).filter(|_| pool.surge() > 0) else {
        return;
    };
    let why = match limits.node_limit(pool, findings.context.policy) {
        _ if !pool.replicas.is_absent() => "poolgate leaves static pools to Karpenter",
        Some(limit) if limit.mode == NodeLimitMode::Soft => "replacements may exceed a Soft limit anyway",
        None if sets_no_limit(pool) => "the pool has no node limit",
        _ => return,
    };
    findings
        .report(
            &SURGE_UNUSED,
            path(SURGE_ANNOTATION),
            ErrorType::note(written),
            format!("{why}, so this has no effect"),
        )
        .suggest("leave it out");
}

/// Whether there is no limit at all: one that cannot be read is another rule's.
fn sets_no_limit(pool: &NodePool<'_>) -> bool {
    let is_in_spec = match pool.limits {
        Field::Absent => false,
        Field::Mistyped => true,
        Field::Present(limits) => limits.get("nodes").is_some_and(|nodes| !nodes.is_null()),
    };
    !is_in_spec && !is_set(pool, NODE_LIMIT_ANNOTATION)
}
