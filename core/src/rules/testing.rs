//! Helpers for the tests of all rules.

use serde_json::{Value, json};

use crate::diagnostic::{Diagnostic, Report, Severity};
use crate::facts::{ApiVersion, KarpenterVersion};
use crate::json::Json;
use crate::policy::Policy;
use crate::review::{Request, Subject, review};

/// The errors of a v1 NodePool that is being created, as lines.
pub fn errors(object: &Value) -> Vec<String> {
    errors_for(ApiVersion::V1, KarpenterVersion::NEWEST, object, None)
}

/// The warnings of a v1 NodePool that is being created, as lines.
pub fn warnings(object: &Value) -> Vec<String> {
    warnings_for(ApiVersion::V1, KarpenterVersion::NEWEST, object, None)
}

/// The notes on a v1 NodePool that is being created, as lines.
pub fn infos(object: &Value) -> Vec<String> {
    let subject = Subject::NodePool(ApiVersion::V1);
    lines(subject, KarpenterVersion::NEWEST, object, None, Severity::Note)
}

/// The errors of a NodePool of this version, read by this Karpenter, that replaces `old`.
pub fn errors_for(
    version: ApiVersion,
    release: KarpenterVersion,
    object: &Value,
    old: Option<&Value>,
) -> Vec<String> {
    errors_on(Subject::NodePool(version), release, object, old)
}

/// The warnings of a NodePool of this version, read by this Karpenter, that replaces `old`.
pub fn warnings_for(
    version: ApiVersion,
    release: KarpenterVersion,
    object: &Value,
    old: Option<&Value>,
) -> Vec<String> {
    lines(
        Subject::NodePool(version),
        release,
        object,
        old,
        Severity::Warning,
    )
}

/// The errors of an object, read by this Karpenter, that replaces `old`.
fn errors_on(
    subject: Subject,
    release: KarpenterVersion,
    object: &Value,
    old: Option<&Value>,
) -> Vec<String> {
    lines(subject, release, object, old, Severity::Error)
}

fn lines(
    subject: Subject,
    release: KarpenterVersion,
    object: &Value,
    old: Option<&Value>,
    severity: Severity,
) -> Vec<String> {
    let report = report(&Policy::default(), subject, release, object, old);
    report.with_severity(severity).map(ToString::to_string).collect()
}

/// All findings in a NodePool of this version that is being created, read by this Karpenter.
pub fn findings_for(version: ApiVersion, release: KarpenterVersion, object: &Value) -> Vec<Diagnostic> {
    let subject = Subject::NodePool(version);
    report(&Policy::default(), subject, release, object, None)
        .into_iter()
        .collect()
}

fn report(
    policy: &Policy,
    subject: Subject,
    release: KarpenterVersion,
    object: &Value,
    old: Option<&Value>,
) -> Report {
    let object = completed(subject, object);
    let old = old.map(|old| completed(subject, old));
    let old = old.as_ref().map(Json::from);
    let request = Request {
        subject,
        object: &Json::from(&object),
        old: old.as_ref(),
        claims: None,
        at: jiff::Timestamp::default(),
    };
    review(&request, policy, &release.into()).report
}

/// The object with all required fields of its kind, so that a test contains only what it is about. Fields that are
/// present stay as they are, an explicit `null` included.
pub fn completed(subject: Subject, object: &Value) -> Value {
    let v1 = || json!({"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"});
    let v1beta1 = || json!({"name": "default"});
    let spec = |reference| json!({"requirements": [], "nodeClassRef": reference});
    let rest = match subject {
        Subject::NodePool(ApiVersion::V1) => {
            // Nodes that expire get a warning if there is a node limit.
            let mut spec = spec(v1());
            fill(&mut spec, json!({"expireAfter": "Never"}));
            json!({"spec": {"template": {"spec": spec}}})
        }
        Subject::NodePool(ApiVersion::V1Beta1) => json!({"spec": {"template": {"spec": spec(v1beta1())}}}),
        Subject::NodeClaim(_) | Subject::Other(_) => json!({}),
    };
    let mut object = object.clone();
    fill(&mut object, rest);
    object
}

/// Adds the fields that `object` lacks. A `nodeClassRef` is added whole or not at all.
fn fill(object: &mut Value, rest: Value) {
    let (Value::Object(object), Value::Object(rest)) = (object, rest) else {
        return;
    };
    for (key, value) in rest {
        match object.get_mut(&key) {
            Some(present) if key != "nodeClassRef" => fill(present, value),
            Some(_) => {}
            None => {
                object.insert(key, value);
            }
        }
    }
}
