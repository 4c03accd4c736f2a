//! The syntax of a requirement's key.

use super::{Scope, restricted};
use crate::diagnostic::{ErrorType, Origin};
use crate::karpenter::{Field, Requirement};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;
use crate::value::label::{corrected_key, qualified_name};

pub static REQUIREMENT_KEY: Rule = rule!("requirement-key", Error, Schema);
pub static REQUIREMENT_KEY_LENGTH: Rule = rule!("requirement-key-length", Error, Runtime);

/// The key of a requirement, if it is valid.
pub fn check<'a>(
    requirement: &Requirement<'a>,
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) -> Option<&'a str> {
    let key = match requirement.key {
        Field::Present(key) => key,
        Field::Mistyped => return None,
        Field::Absent => {
            findings.report(
                &REQUIREMENT_KEY,
                Scope::field(requirement.index, "key"),
                ErrorType::Required,
                "must name the label that the requirement is about",
            );
            return None;
        }
    };
    let path = || Scope::field(requirement.index, "key");
    let finding = match qualified_name(key) {
        Err(error) if !findings.context.crd_rejects(&path(), key) => {
            // CEL rules reject the reserved ones, and they are not in the table.
            let origin = match restricted::reserved(key, scope) {
                Some(_) => Origin::Schema,
                None => Origin::Runtime,
            };
            findings
                .report(&REQUIREMENT_KEY_LENGTH, path(), key, error.to_string())
                .origin(origin)
        }
        Err(error) => findings.report(&REQUIREMENT_KEY, path(), key, error.to_string()),
        Ok(()) if key.len() > findings.context.longest_key() => {
            let most = findings.context.longest_key();
            let reason = format!("is {} bytes long, and the maximum is {most}", key.len());
            findings.report(&REQUIREMENT_KEY, path(), key, reason)
        }
        Ok(()) => return Some(key),
    };
    let fixed = corrected_key(key).filter(|fixed| restricted::reserved(fixed, scope).is_none());
    finding.suggest_if_known(fixed.map(|fixed| format!("write {fixed}")));
    None
}
