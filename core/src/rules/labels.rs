//! The labels that a template gives its nodes.

use super::findings::Findings;
use super::label_verdict::{LabelFacts, Place};
use super::requirements::{At, corrected, report_syntax};
use crate::diagnostic::Origin;
use crate::facts::shape::CAPACITY_TYPES;
use crate::json::Json;
use crate::pool::Template;
use crate::rules::rule::Rule;
use crate::value::label::{corrected_key, corrected_value, label_value, qualified_name};

pub static LABELS_COUNT: Rule = rule!("labels-count", Error, Schema);
pub static LABEL_KEY: Rule = rule!("label-key", Error, Runtime);
pub static LABEL_VALUE: Rule = rule!("label-value", Error, Schema);
pub static LABEL_RESTRICTED: Rule = rule!("label-restricted", Error, Schema);
pub static LABEL_UNKNOWN: Rule = rule!("label-unknown", Warning, Runtime);

pub fn check(template: &Template<'_>, findings: &mut Findings<'_>) {
    let labels = template.labels.present().into_iter().flatten();
    let facts = LabelFacts::new(template, &findings.context);
    // The API server drops null values.
    for (key, value) in labels.filter(|(_, value)| !value.is_null()) {
        check_key(key, &facts, findings);
        check_value(key, value, findings);
    }
}

fn check_key(key: &str, facts: &LabelFacts<'_>, findings: &mut Findings<'_>) {
    const PLACE: Place = Place::TemplateLabels;
    let path = || At::Label(key).path();
    match qualified_name(key) {
        Err(error) => {
            // Not in the table: the definition has CEL rules about keys.
            let origin = if facts.is_rejected(key, PLACE) {
                Origin::Schema
            } else {
                Origin::Runtime
            };
            let fixed = corrected_key(key).filter(|key| facts.may_propose(key, PLACE));
            report_syntax(findings, &LABEL_KEY, path(), key, &error)
                .origin(origin)
                .suggest_if_known(fixed.map(|key| format!("write {key}")));
        }
        Ok(()) if key.len() > findings.context.longest_key => {
            let (length, longest) = (key.len(), findings.context.longest_key);
            let title = format!("a key in a NodeClaim must have at most {longest} bytes, not {length}");
            findings
                .report(&LABEL_KEY, path(), key, title)
                .origin(Origin::Silent)
                .consequence("the pool never launches a node")
                .suggest("shorten the key by a character");
        }
        Ok(()) => {
            if let Some(refusal) = facts.verdict(key, PLACE).refusal {
                refusal.report([&LABEL_RESTRICTED, &LABEL_UNKNOWN], path(), key, findings);
            }
        }
    }
}

fn check_value(key: &str, value: &Json<'_>, findings: &mut Findings<'_>) {
    let Some(text) = value.as_str() else { return };
    if let Err(error) = label_value(text) {
        let capacity_types = CAPACITY_TYPES.words(findings.context.release);
        let fixed = corrected_value(text).and_then(|fixed| corrected(key, fixed, capacity_types));
        report_syntax(findings, &LABEL_VALUE, At::Label(key).path(), text, &error)
            .suggest_if_known(fixed.map(|value| format!("write {value}")));
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
    fn template_takes_a_hundred_labels_and_no_more() {
        let many = |count: usize| -> Value {
            let all: Map<String, Value> = (0..count)
                .map(|number| (format!("example.com/l{number}"), json!("x")))
                .collect();
            labels(&Value::Object(all))
        };
        let about_count = |object: &Value| errors(object).iter().any(|line| line.contains("[labels-count]"));
        assert!(!about_count(&many(100)));
        let mut one_too_many = many(101);
        assert!(about_count(&one_too_many));
        one_too_many["spec"]["template"]["metadata"]["labels"]["example.com/l7"] = Value::Null;
        assert!(!about_count(&one_too_many));
    }
}
