//! `spec.replicas`: static pools, which keep a fixed number of nodes whatever pods there are. Only v1 has them.

pub mod forbidden_fields;
pub mod limit;
pub mod mode;
pub mod number;

use super::findings::Findings;
use super::limits::Limits;
use crate::diagnostic::FieldPath;
use crate::karpenter::{ApiVersion, KarpenterVersion, NodePool};

pub fn check(
    pool: &NodePool<'_>,
    limits: &Limits<'_>,
    old: Option<&NodePool<'_>>,
    findings: &mut Findings<'_>,
) {
    if pool.version == ApiVersion::V1Beta1 {
        return;
    }
    if !findings.context.release.has(KarpenterVersion::STATIC_CAPACITY) {
        mode::check_release(pool, findings);
        return;
    }
    mode::check_transition(pool, old, findings);
    forbidden_fields::check(pool, findings);
    let Some(replicas) = pool.replicas.present() else {
        return;
    };
    if !number::check(replicas, findings) {
        return;
    }
    mode::note_gate(pool, replicas, findings);
    limit::check(pool, replicas, limits, old, findings);
}

fn path() -> FieldPath {
    FieldPath::of(&["spec", "replicas"])
}
