//! Checks the policy's bounds on `spec.limits`.

use crate::diagnostic::{ErrorType, FieldPath};
use crate::policy::{LimitBounds, Written};
use crate::pool::{Field, NodePool};
use crate::rules::findings::Findings;
use crate::rules::limits::{Limit, NODES, PoolLimits, path};
use crate::rules::rule::Rule;
use crate::value::quantity::Quantity;

pub static LIMIT_REQUIRED: Rule = rule!("policy-limit-required", Error, Poolgate);
pub static LIMIT_MAX: Rule = rule!("policy-limit-max", Error, Poolgate);

pub fn check(
    pool: &NodePool<'_>,
    limits: &PoolLimits<'_>,
    bounds: &LimitBounds,
    findings: &mut Findings<'_>,
) {
    if pool.limits == Field::Mistyped {
        return;
    }
    let is_static = !pool.replicas.is_absent();
    // Karpenter allows no other limit for a static pool.
    let applies = |resource: &str| !is_static || resource == NODES;
    let limit = |resource: &str| match resource {
        NODES => limits.nodes(),
        _ => limits.get(resource),
    };
    let is_missing = |resource: &str| applies(resource) && limit(resource).is_none();
    for resource in bounds.required.iter().filter(|resource| is_missing(resource)) {
        let suggestion = bounds.max.get(resource).map_or_else(
            || format!("set {resource} to the most that the pool may use"),
            |most| format!("add {resource}: \"{}\" or less", most.text),
        );
        let reason = format!("the policy requires a limit of {resource}");
        findings
            .report(&LIMIT_REQUIRED, path(resource), ErrorType::Required, reason)
            .suggest(suggestion);
    }
    for (resource, most) in &bounds.max {
        let path = || match &**resource {
            NODES => limits.nodes_path(),
            resource => path(resource),
        };
        let scheduled = limits.schedule.as_ref().filter(|_| resource == NODES);
        let highest = scheduled.map(|schedule| i64::from(schedule.highest()).into());
        match limit(resource) {
            Some(limit) => check_limit(path, limit, highest.as_ref(), most, findings),
            None if applies(resource) && !bounds.required.contains(resource) => {
                let reason = format!(
                    "the policy requires a limit of {resource} of at most {}",
                    most.text
                );
                let suggestion = format!("add {resource}: \"{}\" or less", most.text);
                findings
                    .report(&LIMIT_MAX, path(), ErrorType::Required, reason)
                    .suggest(suggestion);
            }
            None => {}
        }
    }
}

fn check_limit(
    path: impl FnOnce() -> FieldPath,
    limit: &Limit<'_>,
    highest: Option<&Quantity>,
    most: &Written<Quantity>,
    findings: &mut Findings<'_>,
) {
    let quantity = highest.or_else(|| limit.quantity());
    if quantity.is_some_and(|quantity| *quantity > most.value) {
        let reason = format!("the policy allows at most {}", most.text);
        findings
            .report(&LIMIT_MAX, path(), limit.value, reason)
            .suggest(format!("write \"{}\" or less", most.text));
    }
}
