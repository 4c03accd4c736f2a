//! `nodeLimitMode`, poolgate's own field, and the annotation that stands in for it.

use serde_json::Value;

use super::findings::Findings;
use crate::diagnostic::{FieldPath, Origin, RuleId, Severity};
use crate::karpenter::{Disruption, NODE_LIMIT_MODE_ANNOTATION, NodeLimitMode, NodePool};
use crate::rule::Rule;

pub(in crate::rules) const RULES: &[&Rule] = &[&NODE_LIMIT_MODE];

static NODE_LIMIT_MODE: Rule = Rule {
    id: RuleId::new("node-limit-mode"),
    title: "`nodeLimitMode` is `Hard` or `Soft`",
    severity: Some(Severity::Error),
    origins: &[Origin::Poolgate],
    evidence: None,
    why: "`Hard` never lets a pool have more nodes than `limits.nodes`; `Soft` lets replacements exceed it \
          for a while. Any other mode would leave the limit without a meaning. Where the installed CRD lacks \
          the field, the annotation `poolgate.dev/node-limit-mode` carries the mode; where both are set, the \
          field wins.",
    seen_in: &["2525"],
    bad: "\
spec:
  disruption:
    consolidateAfter: 1m
    nodeLimitMode: hard
",
    good: "\
spec:
  disruption:
    consolidateAfter: 1m
    nodeLimitMode: Hard
",
};

pub(super) fn check(pool: &NodePool<'_>, findings: &mut Findings<'_>) {
    let field = pool
        .disruption
        .as_ref()
        .present()
        .and_then(|disruption| disruption.node_limit_mode.present());
    let annotation = pool
        .annotations
        .present()
        .and_then(|annotations| annotations.get(NODE_LIMIT_MODE_ANNOTATION));
    if let Some(text) = field {
        check_mode(text, || Disruption::path("nodeLimitMode"), findings);
    }
    if let Some(text) = annotation.and_then(Value::as_str) {
        let path = || FieldPath::of(&["metadata", "annotations", NODE_LIMIT_MODE_ANNOTATION]);
        check_mode(text, path, findings);
    }
}

fn check_mode(text: &str, path: impl FnOnce() -> FieldPath, findings: &mut Findings<'_>) {
    if NodeLimitMode::parse(text).is_some() {
        return;
    }
    let mut finding = NODE_LIMIT_MODE.unsupported(
        path(),
        text,
        NodeLimitMode::VALUES,
        "the node limit would have no meaning",
    );
    finding
        .suggestion
        .get_or_insert_with(|| "write Hard, or Soft if replacements may exceed the limit for a while".into());
    findings.push(finding);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::rules::testing::errors;

    #[test]
    fn both_modes_pass_in_field_and_annotation() {
        for mode in ["Hard", "Soft"] {
            let object = json!({
                "metadata": {"annotations": {"poolgate.dev/node-limit-mode": mode}},
                "spec": {"disruption": {"nodeLimitMode": mode}},
            });
            assert_eq!(errors(&object), [""; 0]);
        }
    }

    #[test]
    fn any_other_text_is_refused_where_it_stands() {
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
}
