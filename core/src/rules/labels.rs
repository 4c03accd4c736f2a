//! The labels that a template gives its nodes.

use super::findings::Findings;
use super::requirements::misspelt_values;
use super::reserved_labels::Reserved;
use crate::diagnostic::Origin;
use crate::json::Json;
use crate::karpenter::Template;
use crate::karpenter::shape::CAPACITY_TYPES;
use crate::rules::rule::Rule;
use crate::value::label::{corrected_key, corrected_value, label_value, qualified_name};

pub static LABELS_COUNT: Rule = rule!("labels-count", Error, Schema);
pub static LABEL_KEY: Rule = rule!("label-key", Error, Runtime);
pub static LABEL_KEY_LENGTH: Rule = rule!("label-key-length", Error, Silent);
pub static LABEL_VALUE: Rule = rule!("label-value", Error, Schema);

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
    let path = || Template::labels_path().key(key.to_owned());
    match qualified_name(key) {
        Err(error) => {
            // Not in the table: the definition has CEL rules about keys.
            let release = findings.context.release;
            let origin = match Reserved::lookup(key, template.version, release) {
                Some(_) => Origin::Schema,
                None => Origin::Runtime,
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
        Ok(()) if key.len() > findings.context.longest_key() => {
            let reason = format!(
                "is {} bytes long, and the maximum in a NodeClaim is {}, so no node would ever launch",
                key.len(),
                findings.context.longest_key()
            );
            findings
                .report(&LABEL_KEY_LENGTH, path(), key, reason)
                .suggest("shorten it by a character");
        }
        Ok(()) => super::label_domains::check(template, key, findings),
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

    use crate::rules::testing::errors;

    fn labels(labels: &Value) -> Value {
        json!({"spec": {"template": {"metadata": {"labels": labels}}}})
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
}
