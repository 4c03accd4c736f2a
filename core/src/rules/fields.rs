//! Checks each field against the schema: known to the API, of the right type, present if required, valid.

use super::findings::Findings;
use super::unknown::{self, Spelling};
use super::{constraints, types};
use crate::json::Json;
use crate::karpenter::ApiVersion;
use crate::karpenter::shape::{SchemaViolation, violations};

/// Checks the fields of a NodePool of this version.
pub fn check(object: &Json<'_>, version: ApiVersion, findings: &mut Findings<'_>) {
    let mut spelling = Spelling::of(version);
    let release = findings.context.release;
    violations(object, spelling.root, release, &mut |violation| match violation {
        SchemaViolation::Mistyped {
            path,
            value,
            expected,
        } => types::report(path, value, expected, findings),
        SchemaViolation::Unknown { path, name, known } => {
            unknown::report(object, path, name, known, &mut spelling, findings);
        }
        SchemaViolation::Unmet {
            path,
            value,
            constraint,
        } => {
            constraints::report(object, path, value, &constraint.kind, findings);
        }
    });
}
