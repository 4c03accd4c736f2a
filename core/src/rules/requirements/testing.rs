//! What the tests of requirements share.

use serde_json::{Value, json};

use crate::diagnostic::Severity;
use crate::karpenter::{ApiVersion, Release};
use crate::policy::Policy;
use crate::review::{Request, Subject, review};
pub(super) use crate::rules::testing::{errors, warnings};

/// A NodePool of kwok with these requirements.
pub(super) fn requirements(list: &Value) -> Value {
    requirements_of("karpenter.kwok.sh", list)
}

/// A NodePool of the provider with this API group, with these requirements.
pub(super) fn requirements_of(group: &str, list: &Value) -> Value {
    json!({"spec": {"template": {"spec": {
        "requirements": list,
        "nodeClassRef": {"group": group, "kind": "NodeClass", "name": "default"},
    }}}})
}

/// The errors of a NodePool of this version, before this release of Karpenter.
pub(super) fn errors_in(version: ApiVersion, release: Release, object: &Value) -> Vec<String> {
    let request = Request {
        subject: Subject::NodePool(version),
        object,
        old: None,
    };
    let report = review(&request, &Policy::default(), release).report;
    report
        .with_severity(Severity::Error)
        .map(ToString::to_string)
        .collect()
}
