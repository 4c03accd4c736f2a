//! `spec.disruption.consolidationPolicy` and `consolidateAfter`.

pub(super) mod after;
pub(super) mod policy;

use super::context::Context;
use super::findings::Findings;
use crate::karpenter::NodePool;

pub(super) fn check(pool: &NodePool<'_>, context: &Context<'_>, findings: &mut Findings<'_>) {
    let Some(disruption) = pool.disruption.as_ref().present() else {
        return;
    };
    policy::check(pool.version, disruption, context.karpenter, findings);
    after::check(pool.version, disruption, context.release, findings);
}
