//! `nodeLimitMode`, poolgate's own field, and the annotation that replaces it if the CRD lacks the field.

use super::choices;
use super::findings::Findings;
use crate::api::{NODE_LIMIT_MODE_ANNOTATION, NodeLimitMode};
use crate::diagnostic::FieldPath;
use crate::karpenter::{Disruption, NodePool};
use crate::rules::rule::Rule;

pub static NODE_LIMIT_MODE: Rule = rule!("node-limit-mode", Error, Poolgate);

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
        .help
        .get_or_insert_with(|| "write Hard, or Soft if replacements may exceed the limit for a while".into());
}
