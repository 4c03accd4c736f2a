//! The fields themselves: of the right type, known to the API, and there.

use serde_json::Value;

use super::findings::Findings;
use super::{required, types, unknown};
use crate::karpenter::shape::{self, SchemaViolation};
use crate::karpenter::{KarpenterVersion, NodeClaim, NodePool};

/// Checks the fields of a NodePool, which is a view of `object`.
pub(super) fn check_pool(
    pool: &NodePool<'_>,
    object: &Value,
    release: KarpenterVersion,
    findings: &mut Findings<'_>,
) {
    let mut unknown = unknown::Spelling::of_pool(pool.version);
    shape::oddities(object, shape::nodepool(pool.version), &mut |oddity| {
        report(oddity, &mut unknown, findings);
    });
    required::check_pool(pool, object, release, findings);
}

/// Checks the fields of a NodeClaim, which is a view of `object`.
pub(super) fn check_claim(
    claim: &NodeClaim<'_>,
    object: &Value,
    release: KarpenterVersion,
    findings: &mut Findings<'_>,
) {
    let mut unknown = unknown::Spelling::of_claim(claim.version);
    shape::oddities(object, shape::nodeclaim(claim.version), &mut |oddity| {
        report(oddity, &mut unknown, findings);
    });
    required::check_claim(claim, object, release, findings);
}

fn report(oddity: SchemaViolation<'_>, spelling: &mut unknown::Spelling, findings: &mut Findings<'_>) {
    match oddity {
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
