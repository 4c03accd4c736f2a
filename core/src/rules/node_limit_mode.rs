//! `nodeLimitMode`, poolgate's own field, and the annotation that replaces it if the CRD lacks the field.

use super::choices;
use super::findings::Findings;
use crate::api::{NODE_LIMIT_MODE_ANNOTATION, NodeLimitMode};
use crate::diagnostic::FieldPath;
use crate::karpenter::{Disruption, NodePool};
use crate::rules::rule::Rule;

pub static NODE_LIMIT_MODE: Rule = rule!("node-limit-mode", Error, [Poolgate]);

pub fn check(pool: &NodePool<'_>, old: Option<&NodePool<'_>>, findings: &mut Findings<'_>) {
    let field = pool.node_limit_mode_field();
    let annotation = pool.node_limit_mode_annotation();
    if let Some(text) = field {
        check_mode(text, || Disruption::path("nodeLimitMode"), findings);
    }
    if let Some(text) = annotation {
        check_mode(text, annotation_path, findings);
    }
    let mode = |text: Option<&str>| text.and_then(NodeLimitMode::parse);
    let is_the_newer = old.is_some_and(|old| {
        let (old_field, old_annotation) = (old.node_limit_mode_field(), old.node_limit_mode_annotation());
        (old_field != field) != (old_annotation != annotation)
    });
    if let (Some(field), Some(annotation)) = (mode(field), mode(annotation))
        && field != annotation
        && !is_the_newer
    {
        let reason = format!("spec.disruption.nodeLimitMode says {}", field.as_str());
        findings
            .report(&NODE_LIMIT_MODE, annotation_path(), annotation.as_str(), reason)
            .suggest("write one of them, or the same mode in both")
            .related(Disruption::path("nodeLimitMode"));
    }
}

fn annotation_path() -> FieldPath {
    choices::path(NODE_LIMIT_MODE_ANNOTATION)
}

fn check_mode(text: &str, path: impl FnOnce() -> FieldPath, findings: &mut Findings<'_>) {
    if NodeLimitMode::parse(text).is_some() {
        return;
    }
    let reason = "the node limit would have no meaning";
    findings
        .unsupported(&NODE_LIMIT_MODE, path(), text, NodeLimitMode::VALUES, reason)
        .suggestion
        .get_or_insert_with(|| "write Hard, or Soft if replacements may exceed the limit for a while".into());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::karpenter::ApiVersion::V1;
    use crate::karpenter::KarpenterVersion;
    use crate::rules::testing::{errors, errors_for};

    #[test]
    fn both_modes_pass_in_the_field_and_in_any_case_in_the_annotation() {
        for (mode, annotation) in [
            ("Hard", "Hard"),
            ("Soft", "Soft"),
            ("Hard", "hard"),
            ("Soft", "SOFT"),
        ] {
            let object = json!({
                "metadata": {"annotations": {"poolgate.dev/node-limit-mode": annotation}},
                "spec": {"disruption": {"nodeLimitMode": mode}},
            });
            assert_eq!(errors(&object), [""; 0]);
        }
    }

    #[test]
    fn any_other_mode_is_denied() {
        let object = json!({
            "metadata": {"annotations": {"poolgate.dev/node-limit-mode": "never"}},
            "spec": {"disruption": {"nodeLimitMode": "soft"}},
        });
        assert_eq!(
            errors(&object),
            [
                r#"spec.disruption.nodeLimitMode: Unsupported value: "soft": supported values: "Hard", "Soft": the node limit would have no meaning; write Soft [node-limit-mode]"#,
                r#"metadata.annotations[poolgate.dev/node-limit-mode]: Unsupported value: "never": supported values: "Hard", "Soft": the node limit would have no meaning; write Hard, or Soft if replacements may exceed the limit for a while [node-limit-mode]"#,
            ]
        );
    }

    const ALL: [Option<&str>; 3] = [None, Some("Hard"), Some("Soft")];

    /// Whether a pool with the field and annotation `new` is denied, as an update of `old` if that is given.
    fn is_denied(new: [Option<&str>; 2], old: Option<[Option<&str>; 2]>) -> bool {
        let pool = |[field, annotation]: [Option<&str>; 2]| {
            json!({
                "metadata": {"annotations": {"poolgate.dev/node-limit-mode": annotation}},
                "spec": {"disruption": {"nodeLimitMode": field}},
            })
        };
        let errors = errors_for(V1, KarpenterVersion::NEWEST, &pool(new), old.map(pool).as_ref());
        errors.iter().any(|error| error.ends_with("[node-limit-mode]"))
    }

    #[test]
    fn two_modes_that_differ_are_denied_if_both_are_new() {
        assert!(is_denied([Some("Hard"), Some("Soft")], None));
        let pairs = || {
            ALL.iter()
                .flat_map(|field| ALL.map(|annotation| [*field, annotation]))
        };
        for (old, new) in pairs().flat_map(|old| pairs().map(move |new| (old, new))) {
            let [field, annotation] = new;
            let differ = field.is_some() && annotation.is_some() && field != annotation;
            let are_new = old[0] != field && old[1] != annotation;
            assert_eq!(is_denied(new, Some(old)), differ && are_new, "{old:?} to {new:?}");
        }
    }
}
