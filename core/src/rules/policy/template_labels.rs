//! Labels that every node must get.

use crate::diagnostic::ErrorType;
use crate::karpenter::{Field, NodePool, Template};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static TEMPLATE_LABELS: Rule = rule!("policy-template-labels", Error, [Poolgate]);

pub fn check(pool: &NodePool<'_>, required: &[String], findings: &mut Findings<'_>) {
    let labels = match pool.template.labels {
        Field::Mistyped => return,
        labels => labels.present(),
    };
    for key in required {
        let is_label = labels.is_some_and(|labels| labels.get(key).is_some_and(|value| !value.is_null()));
        if is_label || is_required(pool, key) {
            continue;
        }
        let path = Template::labels_path().key(key.clone());
        let reason = "the policy requires this label on every node";
        findings
            .report(&TEMPLATE_LABELS, path, ErrorType::Required, reason)
            .suggest(format!("add the label {key} with its value"))
            .related(Template::requirements_path());
    }
}

/// Whether a requirement puts the label on every node.
fn is_required(pool: &NodePool<'_>, key: &str) -> bool {
    pool.template.requirements().iter().any(|requirement| {
        requirement.key == Field::Present(key) && requirement.operator == Field::Present("In")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::policy::{Bounds, TemplateBounds};
    use crate::rules::policy::testing::errors;

    #[test]
    fn a_label_or_a_requirement_is_enough() {
        let denied = |template: serde_json::Value| {
            let template_bounds = TemplateBounds {
                required_labels: vec!["example.com/team".into()],
                ..TemplateBounds::default()
            };
            let bounds = Bounds {
                template: template_bounds,
                ..Bounds::default()
            };
            errors(bounds, &json!({"spec": {"template": template}}))
        };
        let requirement = |operator: &str| {
            json!({"spec": {"requirements": [
                {"key": "example.com/team", "operator": operator, "values": ["data"]},
            ]}})
        };
        assert_eq!(
            denied(json!({"metadata": {"labels": {"example.com/team": ""}}})),
            [""; 0]
        );
        assert_eq!(denied(requirement("In")), [""; 0]);
        assert_eq!(denied(requirement("NotIn")).len(), 1);
        assert_eq!(
            denied(json!({"metadata": {"labels": {"example.com/team": null}}})),
            [
                "spec.template.metadata.labels[example.com/team]: Required value: the policy requires this label on every node; add the label example.com/team with its value [policy-template-labels]"
            ]
        );
    }
}
