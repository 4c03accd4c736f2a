//! `spec.limits`.

pub(super) mod amount;
pub(super) mod nodes;
pub(super) mod resource;

use super::context::Context;
use super::findings::Findings;
use crate::diagnostic::FieldPath;
use crate::karpenter::NodePool;

pub(super) fn check(
    pool: &NodePool<'_>,
    old: Option<&NodePool<'_>>,
    context: &Context<'_>,
    findings: &mut Findings<'_>,
) {
    let Some(limits) = pool.limits.present() else {
        return;
    };
    for (resource, value) in limits.iter().filter(|(_, value)| !value.is_null()) {
        resource::check(resource, value, limits, findings);
        amount::check(pool, resource, value, findings);
    }
    nodes::check(pool, limits, old, context, findings);
}

fn path(resource: &str) -> FieldPath {
    FieldPath::of(&["spec", "limits"]).key(resource.to_owned())
}
