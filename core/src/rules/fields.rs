//! Checks each field against the schema: known to the API, of the right type, present if required, valid.

use super::findings::Findings;
use super::unknown::{self, Spelling};
use super::{required, types};
use crate::json::Json;
use crate::karpenter::Template;
use crate::karpenter::shape::{SchemaViolation, violations};

/// Checks the fields of the object that has this template.
pub fn check(object: &Json<'_>, template: &Template<'_>, findings: &mut Findings<'_>) {
    let mut spelling = Spelling::of(template);
    let release = findings.context.release;
    violations(object, spelling.root, &mut |violation| match violation {
        SchemaViolation::Mistyped {
            path,
            value,
            expected,
        } => types::report(path, value, expected, findings),
        SchemaViolation::Unknown { path, name, known } => {
            unknown::report(path, name, known, &mut spelling, findings);
        }
        SchemaViolation::Unmet(path, missed) => {
            let rule = super::find(missed.demand.rule.as_str());
            if let Some(rule) = rule.filter(|_| release.has(missed.demand.since)) {
                let suggestion = required::group_of_v1beta1(object, &path).or(missed.suggestion);
                let finding = rule.finding(path, missed.problem, missed.demand.reason);
                findings.push(finding.suggest_if_known(suggestion));
            }
        }
    });
}
