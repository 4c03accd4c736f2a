//! What the fuzz targets share. tests/README.md says how they run.

pub mod commands;
pub mod corpus;
pub mod mutate;

use jiff::Timestamp;
use poolgate_core::json::Json;
use poolgate_core::policy::Policy;
use poolgate_core::review::{Request, Review, Subject, review};
use poolgate_core::{defaults::DefaultValue, drift::DriftClaim, facts::ApiVersion, facts::TargetKarpenter};
use serde_json::{Value, json};

/// The texts of JSON that are written one after the other; `None` if one is broken.
pub fn values(data: &[u8]) -> Option<Vec<Value>> {
    serde_json::Deserializer::from_slice(data)
        .into_iter()
        .collect::<Result<_, _>>()
        .ok()
}

/// What kind of object a value says it is; a NodePool of v1 if it does not say.
pub fn subject_of(object: &Value) -> Subject {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or_default();
    Subject::from_kind(group, version, text("kind")).unwrap_or(Subject::NodePool(ApiVersion::V1))
}

/// The review of an object, at a fixed time.
pub fn reviewed(
    object: &Value,
    old: Option<&Value>,
    claims: Option<&[DriftClaim]>,
    (policy, karpenter): (&Policy, &TargetKarpenter),
) -> Review {
    let old = old.map(Json::from);
    let request = Request {
        subject: subject_of(object),
        object: &Json::from(object),
        old: old.as_ref(),
        claims,
        at: Timestamp::UNIX_EPOCH,
    };
    review(&request, policy, karpenter)
}

/// Makes the changes of a patch as the API server makes them.
pub fn patched(object: &Value, defaults: &[DefaultValue]) -> Value {
    let patch: Value = defaults
        .iter()
        .map(|default| json!({"op": "add", "path": default.path.to_pointer(), "value": default.value}))
        .collect();
    let mut object = object.clone();
    let patch: json_patch::Patch = serde_json::from_value(patch).expect("a patch");
    json_patch::patch(&mut object, &patch).expect("it applies");
    object
}
