//! Labels that every node must get.

use crate::diagnostic::ErrorType;
use crate::karpenter::{Field, NodePool, Template};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static TEMPLATE_LABELS: Rule = rule!("policy-template-labels", Error, Poolgate);

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
