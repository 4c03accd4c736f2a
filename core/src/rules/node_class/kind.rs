//! Whether group and kind of `nodeClassRef` are those of a provider's node class.

use super::{group_field, path, text};
use crate::diagnostic::Suggestion;
use crate::json::Object;
use crate::karpenter::{NodeClassKind, NodeClassMismatch, Template};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static NODE_CLASS_KIND: Rule = rule!("node-class-kind", Error, Silent);
pub static NODE_CLASS_FORK: Rule = rule!("node-class-fork", Warning, Silent);

pub fn check(group: &str, reference: &Object<'_>, template: &Template<'_>, findings: &mut Findings<'_>) {
    let Some(kind) = text(reference, "kind") else {
        return;
    };
    let Some(mismatch) = NodeClassKind::mismatch(group, kind) else {
        return;
    };
    let policy = findings.context.policy;
    let mut allowed = policy.bounds.template.node_classes.iter().flatten();
    if allowed.any(|pattern| pattern.names(group, kind)) {
        return;
    }
    let group_field = group_field(template.version);
    let (rule, likely, reason) = match mismatch {
        NodeClassMismatch::Slip(likely) => (
            &NODE_CLASS_KIND,
            likely,
            "no provider has a node class of this group and kind, so Karpenter would silently ignore the pool",
        ),
        NodeClassMismatch::Fork(likely) => (
            &NODE_CLASS_FORK,
            likely,
            "unless a provider of this group has the kind, Karpenter silently ignores the pool",
        ),
    };
    let (field, value, other) = if likely.group == group {
        ("kind", kind, group_field)
    } else {
        (group_field, group, "kind")
    };
    findings
        .report(rule, path(field), value, reason)
        .related(path(other))
        .suggest(Suggestion::did_you_mean(format_args!(
            "{} of {}",
            likely.kind, likely.group
        )));
}
