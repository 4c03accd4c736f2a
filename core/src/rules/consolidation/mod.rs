//! Checks `consolidationPolicy` and `consolidateAfter` of `spec.disruption`, alone and together.

pub mod after;
pub mod policy;

use super::findings::Findings;
use crate::karpenter::NodePool;

pub fn check(pool: &NodePool<'_>, findings: &mut Findings<'_>) {
    let Some(disruption) = pool.disruption.as_ref().present() else {
        return;
    };
    policy::check(pool.version, disruption, findings);
    after::check(pool.version, disruption, findings);
}
