//! What the tests of every rule share.

use serde_json::Value;

use crate::diagnostic::Severity;
use crate::karpenter::{ApiVersion, Karpenter};
use crate::policy::Policy;
use crate::review::{Request, Subject, review};

/// The errors of a v1 NodePool that is being created, as lines.
pub(crate) fn errors(object: &Value) -> Vec<String> {
    lines(object, Severity::Error)
}

/// The warnings of a v1 NodePool that is being created, as lines.
pub(crate) fn warnings(object: &Value) -> Vec<String> {
    lines(object, Severity::Warning)
}

fn lines(object: &Value, severity: Severity) -> Vec<String> {
    let request = Request {
        subject: Subject::NodePool(ApiVersion::V1),
        object,
        old: None,
    };
    let report = review(&request, &Policy::default(), &Karpenter::default()).report;
    report.with_severity(severity).map(ToString::to_string).collect()
}
