//! The texts of `nodeClassRef`, each by itself.

use super::{path, text};
use crate::diagnostic::{Origin, Suggestion};
use crate::json::Object;
use crate::karpenter::{ApiVersion, KarpenterVersion, Template};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;
use crate::value::label::is_object_name;

pub static NODE_CLASS_REF: Rule = rule!("node-class-ref", Error, [Schema, Silent], Read);

/// Checks each text by itself. Returns whether group and kind can be checked together.
pub fn check(reference: &Object<'_>, template: &Template<'_>, findings: &mut Findings<'_>) -> bool {
    let mut is_valid = true;
    // CEL rules reject empty texts, and they are not in the table.
    let rejects_empty = findings
        .context
        .release
        .has(KarpenterVersion::NODE_CLASS_NOT_EMPTY);
    let mut found = |field, value: &str, reason: &str, suggestion: Option<Suggestion>| {
        is_valid = false;
        let path = path(field);
        let is_rejected = (value.is_empty() && rejects_empty) || findings.context.crd_rejects(&path, value);
        let (origin, consequence) = if is_rejected {
            (Origin::Schema, "")
        } else {
            (Origin::Silent, ", so Karpenter would find no node class")
        };
        findings
            .report(&NODE_CLASS_REF, path, value, format!("{reason}{consequence}"))
            .origin(origin)
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
        let suggestion = bare.map(|bare| {
            if is_object_name(bare) {
                Suggestion::write(bare)
            } else {
                format!("write {}", bare.escape_debug()).into()
            }
        });
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
    use super::*;
    use crate::rules::node_class::testing::pool;
    use crate::rules::testing::{errors, findings_for};

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

    #[test]
    fn old_releases_let_some_through_and_find_no_node_class_then() {
        let origins = |release: KarpenterVersion, group: &str, name: &str| -> Vec<Origin> {
            let found = findings_for(ApiVersion::V1, release, &pool(group, "A", name)).into_iter();
            let found = found.filter(|finding| finding.rule == NODE_CLASS_REF.id);
            let origins = found.map(|finding| {
                let says_so = finding
                    .reason
                    .ends_with(", so Karpenter would find no node class");
                assert_eq!(says_so, finding.origin == Origin::Silent, "{finding}");
                finding.origin
            });
            origins.collect()
        };
        for (release, slash, empty) in [
            (KarpenterVersion::new(0, 37, 1), Origin::Silent, Origin::Silent),
            (KarpenterVersion::new(1, 0, 8), Origin::Schema, Origin::Silent),
            (KarpenterVersion::new(1, 1, 0), Origin::Schema, Origin::Schema),
        ] {
            assert_eq!(origins(release, "a.example/v1", "b"), [slash], "{release}");
            assert_eq!(origins(release, "", ""), [empty; 2], "{release}");
        }
    }
}
