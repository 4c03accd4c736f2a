//! The texts of `nodeClassRef`, each by itself.

use super::{path, text};
use crate::diagnostic::{Origin, Suggestion};
use crate::json::Object;
use crate::karpenter::{ApiVersion, KarpenterVersion, Template};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;
use crate::value::label::is_object_name;

pub static NODE_CLASS_REF: Rule = rule!("node-class-ref", Error, Schema);

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
