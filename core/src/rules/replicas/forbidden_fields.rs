//! Fields that a pool with `replicas` may not have.

use super::path;
use crate::diagnostic::FieldPath;
use crate::karpenter::NodePool;
use crate::rules::findings::Findings;
use crate::rules::limits;
use crate::rules::rule::Rule;

pub static REPLICAS_LIMITS: Rule = rule!("replicas-limits", Error, Schema);
pub static REPLICAS_WEIGHT: Rule = rule!("replicas-weight", Error, Schema);

pub fn check(pool: &NodePool<'_>, findings: &mut Findings<'_>) {
    if pool.replicas.present().is_none() {
        return;
    }
    let limits = pool.limits.present().into_iter().flatten();
    for (resource, value) in limits.filter(|(resource, value)| !value.is_null() && *resource != "nodes") {
        findings
            .report(
                &REPLICAS_LIMITS,
                limits::path(resource),
                value,
                "a static pool accepts no limit except nodes",
            )
            .suggest("remove it")
            .related(path());
    }
    if let Some(weight) = pool.weight.present() {
        findings
            .report(
                &REPLICAS_WEIGHT,
                FieldPath::of(&["spec", "weight"]),
                weight,
                "a static pool does not accept a weight",
            )
            .suggest("remove it")
            .related(path());
    }
}
