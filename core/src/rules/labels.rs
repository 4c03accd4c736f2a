//! The labels that a template gives its nodes.

use super::defined_labels::{DefinedLabels, Place, Verdict};
use super::findings::Findings;
use super::requirements::{At, corrected, report_syntax};
use super::reserved_labels::{Reserved, present_name};
use crate::diagnostic::{Origin, Suggestion};
use crate::json::Json;
use crate::karpenter::shape::CAPACITY_TYPES;
use crate::karpenter::{KarpenterVersion, LabelKind, Template};
use crate::rules::rule::Rule;
use crate::value::label::{corrected_key, corrected_value, label_value, qualified_name};

pub static LABELS_COUNT: Rule = rule!("labels-count", Error, Schema);
pub static LABEL_KEY: Rule = rule!("label-key", Error, Runtime);
pub static LABEL_VALUE: Rule = rule!("label-value", Error, Schema);
pub static LABEL_RESTRICTED: Rule = rule!("label-restricted", Error, Schema);
pub static LABEL_UNKNOWN: Rule = rule!("label-unknown", Warning, Runtime);

pub fn check(template: &Template<'_>, findings: &mut Findings<'_>) {
    let labels = template.labels.present().into_iter().flatten();
    let defined = DefinedLabels::new(template, Place::TemplateLabels, &findings.context);
    // The API server drops null values.
    for (key, value) in labels.filter(|(_, value)| !value.is_null()) {
        check_key(template, key, &defined, findings);
        check_value(key, value, findings);
    }
}

fn check_key(template: &Template<'_>, key: &str, defined: &DefinedLabels<'_>, findings: &mut Findings<'_>) {
    let release = findings.context.release;
    let path = || At::Label(key).path();
    match qualified_name(key) {
        Err(error) => {
            // Not in the table: the definition has CEL rules about keys.
            let is_reserved = Reserved::lookup(key, template.version, release).is_some();
            let origin = if is_reserved || defined.rejects(key) {
                Origin::Schema
            } else {
                Origin::Runtime
            };
            let is_legal = |key: &String| !is_restricted(template, key, release) && !defined.rejects(key);
            let fixed = corrected_key(key).filter(is_legal);
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
        Ok(()) => check_domain(template, key, defined, findings),
    }
}

/// Whether a template must not have this label.
fn is_restricted(template: &Template<'_>, key: &str, release: KarpenterVersion) -> bool {
    Reserved::lookup(key, template.version, release).is_some()
        || present_name(key, template.version, release).is_some()
}

/// Checks whether Karpenter or the cloud provider reserves the domain of a label.
fn check_domain(
    template: &Template<'_>,
    key: &str,
    defined: &DefinedLabels<'_>,
    findings: &mut Findings<'_>,
) {
    const OWN_DOMAIN: &str = "use a domain of your own";
    let path = || At::Label(key).path();
    let (version, context) = (template.version, findings.context);
    if let Some(reserved) = Reserved::lookup(key, version, context.release) {
        let help = match reserved {
            Reserved::NodePool | Reserved::Hostname => "remove it",
            Reserved::Karpenter | Reserved::Kubernetes => OWN_DOMAIN,
        };
        let finding = findings.report(&LABEL_RESTRICTED, path(), key, reserved.title());
        finding.consequence = reserved.exception().map(Into::into);
        finding.suggest(help);
    } else if let Some(present) = present_name(key, version, context.release) {
        let title = "Karpenter before 1.9 requires the current name of a template label";
        findings
            .report(&LABEL_RESTRICTED, path(), key, title)
            .origin(Origin::Runtime)
            .consequence("v1beta1 requires the current name in every release")
            .suggest(format!("write {present}"));
    } else {
        let kind = context.labels.kind_of(key, context.group_of(template));
        match (defined.verdict(key, &kind), kind) {
            (Verdict::Rejected(rejection), kind) => {
                let help = kind
                    .likely()
                    .map_or_else(|| OWN_DOMAIN.into(), Suggestion::did_you_mean);
                rejection.report([&LABEL_RESTRICTED, &LABEL_UNKNOWN], path(), key, help, findings);
            }
            (Verdict::Unknown, LabelKind::Unknown { likely: Some(likely) }) => {
                let title = "the provider has no such label in its domain";
                findings
                    .report(&LABEL_RESTRICTED, path(), key, title)
                    .origin(Origin::Runtime)
                    .consequence("the NodePool never becomes Ready and launches nothing")
                    .suggest(Suggestion::did_you_mean(likely));
            }
            (Verdict::Unknown, LabelKind::Unknown { likely: None }) => {
                let title = "poolgate knows no such label in the provider's domain";
                findings
                    .report(&LABEL_UNKNOWN, path(), key, title)
                    .consequence("the NodePool never becomes Ready unless the provider has the label")
                    .suggest(OWN_DOMAIN);
            }
            _ => {}
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
