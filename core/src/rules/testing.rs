//! What the tests of every rule share.

use serde_json::Value;

use crate::diagnostic::Severity;
use crate::karpenter::{ApiVersion, Release};
use crate::policy::Policy;
use crate::review::{Request, Subject, review};

/// The errors of a v1 NodePool that is being created, as lines.
pub(crate) fn errors(object: &Value) -> Vec<String> {
    errors_for(ApiVersion::V1, Release::NEWEST, object, None)
}

/// The warnings of a v1 NodePool that is being created, as lines.
pub(crate) fn warnings(object: &Value) -> Vec<String> {
    warnings_for(ApiVersion::V1, Release::NEWEST, object, None)
}

/// The notes on a v1 NodePool that is being created, as lines.
pub(crate) fn infos(object: &Value) -> Vec<String> {
    lines(ApiVersion::V1, Release::NEWEST, object, None, Severity::Info)
}

/// The errors of a NodePool of this version, read by this Karpenter, that replaces `old`.
pub(crate) fn errors_for(
    version: ApiVersion,
    release: Release,
    object: &Value,
    old: Option<&Value>,
) -> Vec<String> {
    lines(version, release, object, old, Severity::Error)
}

/// The warnings of a NodePool of this version, read by this Karpenter, that replaces `old`.
pub(crate) fn warnings_for(
    version: ApiVersion,
    release: Release,
    object: &Value,
    old: Option<&Value>,
) -> Vec<String> {
    lines(version, release, object, old, Severity::Warning)
}

fn lines(
    version: ApiVersion,
    release: Release,
    object: &Value,
    old: Option<&Value>,
    severity: Severity,
) -> Vec<String> {
    let subject = Subject::NodePool(version);
    let report = review(
        &Request { subject, object, old },
        &Policy::default(),
        &release.into(),
    )
    .report;
    report.with_severity(severity).map(ToString::to_string).collect()
}
