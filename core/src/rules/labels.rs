//! The labels that a template gives its nodes.

use super::findings::Findings;
use super::requirements::misspelt_values;
use super::reserved_labels::Reserved;
use crate::diagnostic::Origin;
use crate::json::Json;
use crate::karpenter::shape::CAPACITY_TYPES;
use crate::karpenter::{Template, TemplateOwner};
use crate::rules::rule::Rule;
use crate::value::label::{corrected_key, corrected_value, label_value, qualified_name};

pub static LABELS_COUNT: Rule = rule!("labels-count", Error, [Schema]);
pub static LABEL_KEY: Rule = rule!("label-key", Error, [Runtime, Schema]);
pub static LABEL_KEY_LENGTH: Rule = rule!("label-key-length", Error, [Silent], Shown);
pub static LABEL_VALUE: Rule = rule!("label-value", Error, [Schema]);

pub fn check(template: &Template<'_>, findings: &mut Findings<'_>) {
    let Some(labels) = template.labels.present() else {
        return;
    };
    // The API server drops null values.
    for (key, value) in labels.iter().filter(|(_, value)| !value.is_null()) {
        check_label(template, key, value, findings);
    }
}

fn check_label(template: &Template<'_>, key: &str, value: &Json<'_>, findings: &mut Findings<'_>) {
    let path = || template.labels_path().key(key.to_owned());
    match qualified_name(key) {
        Err(error) => {
            // Not in the table: the definition has CEL rules about keys, and the labels of a NodeClaim are its metadata,
            // which the API server checks by itself.
            let release = findings.context.release;
            let is_rejected = template.owner == TemplateOwner::Claim
                || Reserved::lookup(key, template.version, release).is_some();
            let origin = if is_rejected {
                Origin::Schema
            } else {
                Origin::Runtime
            };
            findings
                .report(&LABEL_KEY, path(), key, error.to_string())
                .origin(origin)
                .suggest_if_known(
                    corrected_key(key)
                        .filter(|key| !super::label_domains::is_restricted(template, key, release))
                        .map(|key| format!("write {key}")),
                );
        }
        Ok(()) if template.owner == TemplateOwner::Pool && key.len() > findings.context.longest_key() => {
            let reason = format!(
                "is {} bytes long, and the maximum in a NodeClaim is {}, so no node would ever launch",
                key.len(),
                findings.context.longest_key()
            );
            findings
                .report(&LABEL_KEY_LENGTH, path(), key, reason)
                .suggest("shorten it by a character");
        }
        Ok(()) if template.owner == TemplateOwner::Pool => {
            super::label_domains::check(template, key, findings);
        }
        Ok(()) => {}
    }
    let Some(text) = value.as_str() else { return };
    if let Err(error) = label_value(text) {
        let capacity_types = CAPACITY_TYPES.words(findings.context.release);
        let corrected =
            corrected_value(text).and_then(|fixed| misspelt_values::existing(key, fixed, capacity_types));
        findings
            .report(&LABEL_VALUE, path(), value, error.to_string())
            .suggest_if_known(corrected.map(|value| format!("write {value}")));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use crate::karpenter::{ApiVersion, KarpenterVersion};
    use crate::review::Subject;
    use crate::rules::testing::{errors, errors_on};

    fn labels(labels: &Value) -> Value {
        json!({"spec": {"template": {"metadata": {"labels": labels}}}})
    }

    #[test]
    fn keys_and_values_are_read_as_kubernetes_reads_them() {
        assert_eq!(
            errors(&labels(&json!({"a": "", "example.com/A_b": "x.Y-1"}))),
            [""; 0]
        );
        assert_eq!(
            errors(&labels(&json!({" Example.com/team": "blue "}))),
            [
                "spec.template.metadata.labels[ Example.com/team]: Invalid value: \" Example.com/team\": the domain \
                 before the slash contains ` `; it consists of lower-case letters, digits, `-` and `.`, and \
                 each part of it begins and ends with a letter or digit; write example.com/team [label-key]",
                "spec.template.metadata.labels[ Example.com/team]: Invalid value: \"blue \": contains a space; \
                 only letters, digits, `-`, `_` and `.` are allowed; write blue [label-value]",
            ]
        );
        assert!(errors(&labels(&json!({"a": "v".repeat(64)})))[0].ends_with("[label-value]"));
        let reserved = errors(&labels(&json!({"Karpenter.sh/foo": "x"})));
        assert!(
            !reserved[0].contains("write"),
            "it would be denied, too: {reserved:?}"
        );
    }

    #[test]
    fn the_longest_key_of_kubernetes_is_too_long_for_a_nodeclaim() {
        let of = |domain: usize| {
            let key = format!("{}/{}", "d".repeat(domain), "n".repeat(63));
            errors(&labels(&json!({key: "x"})))
        };
        assert_eq!(of(252), [""; 0]);
        let denied = of(253);
        assert_eq!(denied.len(), 1);
        assert!(
            denied[0].ends_with(
                "is 317 bytes long, and the maximum in a NodeClaim is 316, so no node would ever launch; shorten it by a \
                 character [label-key-length]"
            ),
            "{denied:?}"
        );
        assert!(of(254)[0].ends_with("[label-key]"));
    }

    #[test]
    fn a_hundred_labels_pass_and_one_more_is_denied() {
        let many = |count: usize| -> Value {
            let all: Map<String, Value> = (0..count)
                .map(|number| (format!("example.com/l{number}"), json!("x")))
                .collect();
            labels(&Value::Object(all))
        };
        let about_count = |object: &Value| errors(object).iter().any(|line| line.ends_with("[labels-count]"));
        assert!(!about_count(&many(100)));
        let mut one_too_many = many(101);
        assert!(about_count(&one_too_many));
        one_too_many["spec"]["template"]["metadata"]["labels"]["example.com/l7"] = Value::Null;
        assert!(!about_count(&one_too_many));
    }

    #[test]
    fn only_the_syntax_of_a_claims_labels_is_checked() {
        let claim = |labels: Value| json!({"metadata": {"labels": labels}});
        let errors = |object: &Value| {
            errors_on(
                Subject::NodeClaim(ApiVersion::V1),
                KarpenterVersion::NEWEST,
                object,
                None,
            )
        };
        let own = claim(json!({"karpenter.sh/nodepool": "default", "kubernetes.io/hostname": "x"}));
        assert_eq!(errors(&own), [""; 0]);
        let denied = errors(&claim(json!({"a b": "x"})));
        assert!(denied[0].starts_with("metadata.labels[a b]"), "{denied:?}");
    }
}
