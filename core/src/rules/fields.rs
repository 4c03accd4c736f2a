//! Checks each field against the schema: known to the API, of the right type, present if required, valid.

use super::findings::Findings;
use super::unknown::{self, Spelling};
use super::{constraints, types};
use crate::json::Json;
use crate::karpenter::Template;
use crate::karpenter::shape::{SchemaViolation, violations};

/// Checks the fields of the object that has this template.
pub fn check(object: &Json<'_>, template: &Template<'_>, findings: &mut Findings<'_>) {
    let mut spelling = Spelling::of(template);
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
            constraints::report(object, template.owner, path, value, &constraint.kind, findings);
        }
    });
}
