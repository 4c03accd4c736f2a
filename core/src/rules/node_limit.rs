//! The annotation with which a pool leaves `spec.limits.nodes` to poolgate.

use super::choices::{check_number, path};
use super::findings::Findings;
use super::limits::{self, Limits, NODES};
use crate::api::NODE_LIMIT_ANNOTATION;
use crate::karpenter::NodePool;
use crate::rules::rule::Rule;
use crate::value::quantity::Quantity;

pub static NODE_LIMIT: Rule = rule!("node-limit", Error, Poolgate);
pub static NODE_LIMIT_TWICE: Rule = rule!("node-limit-twice", Warning, Poolgate);

pub fn check(
    pool: &NodePool<'_>,
    limits: &Limits<'_>,
    old: Option<&NodePool<'_>>,
    findings: &mut Findings<'_>,
) {
    let Some(limit) = check_number(&NODE_LIMIT, pool, NODE_LIMIT_ANNOTATION, "10", findings) else {
        return;
    };
    let Some(given) = limits.get(NODES) else {
        return;
    };
    // The reconciler writes at most the limit; admission writes the limit itself.
    let is_ours = given.quantity().is_none_or(|given| match old {
        None => *given == Quantity::from(i64::from(limit)),
        Some(_) => *given <= Quantity::from(i64::from(limit)),
    });
    let stored = old.and_then(|old| old.limits.present()?.get("nodes"));
    if is_ours || stored == Some(given.value) {
        return;
    }
    let reason = format!("{NODE_LIMIT_ANNOTATION} says {limit}, and poolgate overwrites this");
    findings
        .report(&NODE_LIMIT_TWICE, limits::path(NODES), given.value, reason)
        .related(path(NODE_LIMIT_ANNOTATION))
        .suggest("leave it out");
}
