//! `nodeClassRef`: which machines the nodes are made of.
//!
//! First its texts are checked by themselves; the valid ones are then checked together.

pub mod fixed;
pub mod kind;
pub mod label;
pub mod texts;

use super::findings::Findings;
use crate::diagnostic::FieldPath;
use crate::json::{Json, Object};
use crate::karpenter::{ApiVersion, KarpenterVersion, Template};

pub fn check(template: &Template<'_>, old: Option<&Template<'_>>, findings: &mut Findings<'_>) {
    let Some(reference) = template.node_class_ref.present() else {
        return;
    };
    let release = findings.context.release;
    let is_valid = texts::check(reference, template, findings);
    label::check_name(reference, template, findings);
    if is_valid && let Some(group) = template.node_class_group() {
        kind::check(group, reference, template, findings);
        if release.has(KarpenterVersion::NODE_CLASS_LABELLED) {
            label::check_key(template, findings);
        }
    }
    if template.version == ApiVersion::V1
        && release.has(KarpenterVersion::NODE_CLASS_FIXED)
        && let Some(old) = old.and_then(|old| old.node_class_ref.present())
    {
        fixed::check(reference, old, findings);
    }
}

fn path(field: &'static str) -> FieldPath {
    Template::path("nodeClassRef").key(field)
}

fn text<'v>(reference: &'v Object<'v>, field: &str) -> Option<&'v str> {
    reference.get(field).and_then(Json::as_str)
}

/// The field that names the group.
fn group_field(version: ApiVersion) -> &'static str {
    match version {
        ApiVersion::V1 => "group",
        ApiVersion::V1Beta1 => "apiVersion",
    }
}
