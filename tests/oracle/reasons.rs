//! Which findings of poolgate say the same as the API server.

use poolgate_core::diagnostic::Diagnostic;

use super::judgement::{Objection, Step, is_around, plain};

/// The rules of the definitions that concern several fields, by their messages, and the corresponding rules of
/// poolgate. The API server reports the object around those fields, so the field alone proves little.
const TOGETHER: &[(&str, &[&str])] = &[
    ("'schedule' must be set with 'duration'", &["budget-duration"]),
    ("'weight' is not supported", &["replicas"]),
    ("Cannot transition NodePool", &["replicas"]),
    ("only 'limits.nodes' is supported", &["replicas"]),
    ("may not be empty", &["node-class-ref"]),
    ("is immutable", &["node-class-immutable"]),
    (
        "is restricted",
        &[
            "requirement-key-restricted",
            "requirement-key",
            "label-restricted",
            "label-key",
        ],
    ),
    (
        "must have a single positive integer value",
        &["requirement-values"],
    ),
    ("no such key: values", &["requirement-values"]),
    (
        "must have at least that many values",
        &["requirement-min-values", "requirement-values"],
    ),
    (
        "requirements with operator 'In' must have a value",
        &["requirement-values"],
    ),
    ("consolidateAfter cannot be combined", &["consolidate-after"]),
    ("consolidateAfter must be specified", &["consolidate-after"]),
    ("OwnerKey does not have a matching", &["kubelet"]),
    ("valid keys for", &["kubelet"]),
    ("must be greater than imageGCLowThresholdPercent", &["kubelet"]),
    ("cannot be a negative resource quantity", &["kubelet"]),
];

/// Whether the API server objects by a rule that concerns several fields.
pub(crate) fn is_together(objection: &Objection) -> bool {
    TOGETHER
        .iter()
        .any(|(message, _)| objection.detail.contains(message))
}

/// Whether a finding may be about the other side's objection: it is at the same field or around it, and of a
/// corresponding rule.
pub(crate) fn stands_for(finding: &Diagnostic, objection: &Objection, step: Step) -> bool {
    let is_there = is_around(&plain(&finding.path), &objection.field);
    let together = TOGETHER
        .iter()
        .filter(|_| step == Step::Schema)
        .find(|(message, _)| objection.detail.contains(message));
    is_there && together.is_none_or(|(_, rules)| rules.contains(&finding.rule.as_str()))
}
