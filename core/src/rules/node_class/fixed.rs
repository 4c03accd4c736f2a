//! The fields of `nodeClassRef` that an update may not change.

use super::{path, text};
use crate::diagnostic::quoted;
use crate::json::Object;
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static NODE_CLASS_IMMUTABLE: Rule = rule!("node-class-immutable", Error, Schema);

pub fn check(reference: &Object<'_>, old: &Object<'_>, findings: &mut Findings<'_>) {
    for field in ["group", "kind"] {
        let (Some(before), Some(now)) = (text(old, field), text(reference, field)) else {
            continue;
        };
        if before != now {
            findings
                .report(
                    &NODE_CLASS_IMMUTABLE,
                    path(field),
                    now,
                    format!("it is {} and cannot be changed", quoted(before)),
                )
                .suggest("create a new NodePool and delete this one");
        }
    }
}
