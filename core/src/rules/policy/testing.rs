//! What the tests of the bounds share.

use serde_json::{Value, json};

use crate::diagnostic::Severity;
use crate::json::Json;
use crate::karpenter::{ApiVersion, TargetKarpenter};
use crate::policy::{Bounds, Policy, Written};
use crate::review::{Request, Subject, review};
use crate::value::duration::GoDuration;

/// The errors of the bounds about a v1 NodePool that is being created: path and message of each.
pub fn errors(bounds: Bounds, object: &Value) -> Vec<String> {
    reviewed(bounds, object, None, Severity::Error)
}

/// The errors for an update that changes nothing.
pub fn errors_of_no_change(bounds: Bounds, object: &Value) -> Vec<String> {
    reviewed(bounds, object, Some(object), Severity::Error)
}

fn reviewed(bounds: Bounds, object: &Value, old: Option<&Value>, severity: Severity) -> Vec<String> {
    let policy = Policy {
        bounds,
        ..Policy::default()
    };
    let old = old.map(Json::from);
    let request = Request {
        subject: Subject::NodePool(ApiVersion::V1),
        object: &Json::from(object),
        old: old.as_ref(),
        claims: None,
        at: jiff::Timestamp::default(),
    };
    let report = review(&request, &policy, &TargetKarpenter::default()).report;
    let ours = report
        .with_severity(severity)
        .filter(|finding| finding.rule.as_str().starts_with("policy-"));
    ours.map(ToString::to_string).collect()
}

/// A NodePool with these budgets.
pub fn with_budgets(budgets: &Value) -> Value {
    json!({"spec": {"disruption": {"consolidateAfter": "1m", "budgets": budgets}}})
}

/// A duration of a policy.
pub fn duration(text: &str) -> Written<GoDuration> {
    Written {
        text: text.into(),
        value: GoDuration::parse(text).unwrap(),
    }
}
