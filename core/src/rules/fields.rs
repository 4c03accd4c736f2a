//! The fields themselves: of the right type, known to the API, and there.

use super::findings::Findings;
use super::{required, types, unknown};
use crate::karpenter::shape::{self, SchemaViolation};
use crate::karpenter::{KarpenterVersion, NodeClaim, NodePool};

/// Checks the fields of a NodePool.
pub(super) fn check_pool(pool: &NodePool<'_>, release: KarpenterVersion, findings: &mut Findings<'_>) {
    let mut unknown = unknown::Spelling::of_pool(pool.version);
    shape::violations(pool.object, shape::nodepool(pool.version), &mut |violation| {
        report(violation, &mut unknown, findings);
    });
    required::check_pool(pool, release, findings);
}

/// Checks the fields of a NodeClaim.
pub(super) fn check_claim(claim: &NodeClaim<'_>, release: KarpenterVersion, findings: &mut Findings<'_>) {
    let mut unknown = unknown::Spelling::of_claim(claim.version);
    shape::violations(claim.object, shape::nodeclaim(claim.version), &mut |violation| {
        report(violation, &mut unknown, findings);
    });
    required::check_claim(claim, release, findings);
}

fn report(violation: SchemaViolation<'_>, spelling: &mut unknown::Spelling, findings: &mut Findings<'_>) {
    match violation {
        SchemaViolation::Mistyped {
            path,
            value,
            expected,
        } => types::report(path, value, expected, findings),
        SchemaViolation::Unknown { path, name, known } => {
            unknown::report(path, name, known, spelling, findings);
        }
    }
}
