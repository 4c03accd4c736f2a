//! The syntax of a requirement's key.

use super::{Scope, restricted};
use crate::diagnostic::{ErrorType, Origin};
use crate::karpenter::{Field, Requirement};
use crate::rules::findings::Findings;
use crate::rules::origins::by_runtime;
use crate::rules::rule::Rule;
use crate::value::label::{corrected_key, qualified_name};

pub static REQUIREMENT_KEY: Rule = rule!("requirement-key", Error, [Schema]);
pub static REQUIREMENT_KEY_LENGTH: Rule =
    rule!("requirement-key-length", Error, [Runtime, Silent, Schema], Read);

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
                scope.field(requirement.index, "key"),
                ErrorType::Required,
                "must name the label that the requirement is about",
            );
            return None;
        }
    };
    let path = || scope.field(requirement.index, "key");
    let finding = match qualified_name(key) {
        Err(error) if !findings.context.crd_rejects(&path(), key) => {
            // CEL rules reject the reserved ones, and they are not in the table.
            let origin = match restricted::reserved(key, scope) {
                Some(_) => Origin::Schema,
                None => by_runtime(scope.template.owner),
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::requirements::testing::{errors, requirements};

    fn of_key(key: &Value) -> Vec<String> {
        errors(&requirements(
            &json!([{"key": key, "operator": "In", "values": ["a"]}]),
        ))
    }

    #[test]
    fn a_missing_or_illegal_key_is_denied_together_with_other_mistakes() {
        assert_eq!(
            errors(&requirements(&json!([{"operator": "In", "values": []}]))),
            [
                "spec.template.spec.requirements[0].key: Required value: must name the label that the requirement is \
                 about [requirement-key]",
                "spec.template.spec.requirements[0].values: Required value: operator In needs at least one value \
                 [requirement-values]",
            ]
        );
        assert_eq!(
            of_key(&json!("Example.com/team")),
            [
                "spec.template.spec.requirements[0].key: Invalid value: \"Example.com/team\": the domain before the \
                 slash contains `E`; it consists of lower-case letters, digits, `-` and `.`, and each part of it begins \
                 and ends with a letter or digit; write example.com/team [requirement-key]"
            ]
        );
        assert_eq!(of_key(&json!(5)).len(), 1);
    }

    #[test]
    fn no_key_is_suggested_that_is_denied_as_well() {
        let reserved = of_key(&json!("Kubernetes.io/hostname"));
        assert!(!reserved[0].contains("write"), "{reserved:?}");
    }

    #[test]
    fn the_crd_and_karpenter_limit_the_length() {
        let key = |domain: usize, name: usize| json!(format!("{}/{}", "d".repeat(domain), "n".repeat(name)));
        assert_eq!(of_key(&key(252, 63)), [""; 0]);
        assert!(
            of_key(&key(253, 63))[0].ends_with("is 317 bytes long, and the maximum is 316 [requirement-key]")
        );
        assert!(of_key(&key(10, 64))[0].ends_with("[requirement-key-length]"));
        assert!(of_key(&key(300, 64))[0].ends_with("[requirement-key]"));
    }
}
