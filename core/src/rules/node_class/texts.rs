//! The texts of `nodeClassRef`, each by itself.

use super::{path, text};
use crate::json::Object;
use crate::karpenter::{ApiVersion, Template};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static NODE_CLASS_REF: Rule = rule!("node-class-ref", Error, [Schema]);

/// Checks each text by itself. Returns whether group and kind can be checked together.
pub fn check(reference: &Object<'_>, template: &Template<'_>, findings: &mut Findings<'_>) -> bool {
    let mut is_valid = true;
    let mut found = |field, value: &str, reason: &str, suggestion: Option<String>| {
        is_valid = false;
        findings
            .report(&NODE_CLASS_REF, path(template.owner, field), value, reason)
            .suggest_if_known(suggestion);
    };
    // In v1beta1 an empty text is the same as a missing one.
    let demanded: &[&'static str] = match template.version {
        ApiVersion::V1 => &["group", "kind", "name"],
        ApiVersion::V1Beta1 => &[],
    };
    for field in demanded {
        if let Some(value) = text(reference, field).filter(|value| value.is_empty()) {
            found(field, value, "may not be empty", None);
        }
    }
    if template.version == ApiVersion::V1
        && let Some(group) = text(reference, "group").filter(|group| group.contains('/'))
    {
        let bare = group
            .split('/')
            .next()
            .filter(|bare| !bare.is_empty() && bare.len() <= 253);
        let suggestion = bare.map(|bare| format!("write {}", bare.escape_debug()));
        found(
            "group",
            group,
            "a group contains no slash and no version",
            suggestion,
        );
    }
    is_valid
}

#[cfg(test)]
mod tests {
    use crate::rules::node_class::testing::pool;
    use crate::rules::testing::errors;

    #[test]
    fn empty_texts_and_versions_in_the_group_are_denied() {
        assert_eq!(
            errors(&pool("karpenter.k8s.aws/v1", "EC2NodeClass", "default")),
            [
                "spec.template.spec.nodeClassRef.group: Invalid value: \"karpenter.k8s.aws/v1\": a group contains no \
                 slash and no version; write karpenter.k8s.aws [node-class-ref]"
            ]
        );
        assert_eq!(errors(&pool("", "", "")).len(), 3);
    }
}
