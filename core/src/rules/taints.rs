//! Taints and startup taints, each by itself.

use super::findings::Findings;
use super::origins::by_runtime;
use crate::diagnostic::Origin;
use crate::karpenter::{Taint, Template, TemplateOwner};
use crate::rules::rule::Rule;
use crate::value::label::{corrected_key, corrected_value, label_value, qualified_name};

pub static TAINT_KEY: Rule = rule!("taint-key", Error, [Schema, Runtime, Silent], Read);
pub static TAINT_EFFECT: Rule = rule!("taint-effect", Error, [Schema]);
pub static TAINT_VALUE: Rule = rule!("taint-value", Error, [Silent, Schema, Runtime], Read);

pub fn check(template: &Template<'_>, findings: &mut Findings<'_>) {
    for taint in template.all_taints() {
        check_key(taint, template.owner, findings);
        check_value(taint, template.owner, findings);
    }
}

fn check_key(taint: &Taint<'_>, owner: TemplateOwner, findings: &mut Findings<'_>) {
    let Some(key) = taint.key.present() else { return };
    if let Err(error) = qualified_name(key) {
        let path = taint.path("key");
        findings
            .report_text(&TAINT_KEY, path, key, by_runtime(owner), error.to_string())
            .suggest_if_known(corrected_key(key).map(|key| format!("write {key}")));
    }
}

fn check_value(taint: &Taint<'_>, owner: TemplateOwner, findings: &mut Findings<'_>) {
    let Some(value) = taint.value.present() else {
        return;
    };
    let path = || taint.path("value");
    let (reason, suggestion) = if value.is_empty() {
        (
            "the CRD rejects an empty value".to_owned(),
            Some("leave value out".to_owned()),
        )
    } else if let Err(error) = label_value(value) {
        let consequence = if findings.context.crd_rejects(&path(), value) {
            ""
        } else {
            ", so no node of this pool could register"
        };
        let suggestion = corrected_value(value).map(|value| format!("write {value}"));
        (format!("{error}{consequence}"), suggestion)
    } else {
        return;
    };
    // Karpenter accepts a value that is valid as a key.
    let otherwise = match qualified_name(value) {
        Ok(()) => Origin::Silent,
        Err(_) => by_runtime(owner),
    };
    findings
        .report_text(&TAINT_VALUE, path(), value, otherwise, reason)
        .suggest_if_known(suggestion);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::testing::errors;

    fn errors_of(taint: &Value) -> Vec<String> {
        errors(&json!({"spec": {"template": {"spec": {"startupTaints": [taint]}}}}))
    }

    #[test]
    fn usual_taints_pass() {
        for taint in [
            json!({"key": "a", "effect": "NoSchedule"}),
            json!({"key": "example.com/a", "value": "true", "effect": "NoExecute"}),
            json!({"key": "a", "value": null, "effect": "PreferNoSchedule"}),
        ] {
            assert_eq!(errors_of(&taint), [""; 0], "{taint}");
        }
    }

    #[test]
    fn each_part_is_reported_at_its_field() {
        let denied = errors_of(&json!({
            "key": "Example.com/team", "value": "a/b", "effect": "noSchedule",
        }));
        assert_eq!(denied.len(), 3, "{denied:?}");
        assert!(denied[0].ends_with("; write NoSchedule [taint-effect]"));
        assert!(denied[1].starts_with("spec.template.spec.startupTaints[0].key: "));
        assert!(denied[1].ends_with("; write example.com/team [taint-key]"));
        assert!(denied[2].ends_with(", so no node of this pool could register [taint-value]"));
    }

    #[test]
    fn a_key_or_value_that_is_too_long_is_denied() {
        let long = "n".repeat(64);
        assert!(errors_of(&json!({"key": long, "effect": "NoExecute"}))[0].ends_with("[taint-key]"));
        assert!(
            errors_of(&json!({"key": "a", "value": long, "effect": "NoExecute"}))[0]
                .ends_with("[taint-value]")
        );
    }

    #[test]
    fn an_empty_value_is_denied() {
        let denied = errors_of(&json!({"key": "a", "value": "", "effect": "NoExecute"}));
        assert!(
            denied[0].ends_with("; leave value out [taint-value]"),
            "{denied:?}"
        );
    }

    #[test]
    fn key_and_effect_are_required() {
        assert_eq!(
            errors_of(&json!({"value": "a"})),
            [
                "spec.template.spec.startupTaints[0].key: Required value: a taint needs a key; write one such as example.com/team [field-required]",
                "spec.template.spec.startupTaints[0].effect: Required value: a taint needs an effect; write \
                 NoSchedule, PreferNoSchedule or NoExecute [field-required]",
            ]
        );
    }
}
