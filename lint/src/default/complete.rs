//! A NodePool with its defaults, and which fields those are.

use poolgate_core::defaults::defaults;
use poolgate_core::diagnostic::{FieldPath, Segment};
use poolgate_core::json::Json;
use poolgate_core::karpenter::{ApiVersion, NodePool, schema_defaults};
use serde_json::Value;

use super::Defaults;

/// poolgate's own field, which Karpenter's definition does not have.
const NODE_LIMIT_MODE: &str = "nodeLimitMode";

/// A field that a NodePool lacks, in an object or element that it has.
#[derive(Debug, PartialEq)]
pub struct Addition {
    pub path: FieldPath,
    pub value: Value,
}

/// Fields that every NodePool has. An object that lacks one is a part, such as a patch: the rest is elsewhere.
const DEMANDED: [[&str; 4]; 2] = [
    ["spec", "template", "spec", "nodeClassRef"],
    ["spec", "template", "spec", "requirements"],
];

/// The first of these fields that an object lacks: if there is one, it is only a part of a NodePool.
pub fn lacking(object: &Json<'_>) -> Option<FieldPath> {
    let mut demanded = DEMANDED.iter().map(|path| FieldPath::of(path));
    demanded.find(|path| path.find(object).is_none())
}

/// The NodePool as the cluster would store it, except for a node limit that it leaves to poolgate.
pub fn completed(object: &Value, version: ApiVersion, by: &Defaults<'_>) -> Value {
    let mut completed = schema_defaults(object, version, by.karpenter.release());
    let stored = Json::from(&completed);
    let pool = NodePool::view(version, &stored);
    let written = defaults(&pool, None, None, &by.policy.defaults, by.karpenter);
    let limits = FieldPath::of(&["spec", "limits"]);
    for mut default in written {
        // In the cluster poolgate owns this value; written into a manifest, it would be the user's.
        if default.path.segments().starts_with(limits.segments()) {
            continue;
        }
        if !by.with_mode {
            if default.path == FieldPath::of(&["spec", "disruption", NODE_LIMIT_MODE]) {
                continue;
            }
            if let Some(disruption) = default.value.as_object_mut() {
                disruption.remove(NODE_LIMIT_MODE);
            }
        }
        put(&mut completed, &default.path, default.value);
    }
    completed
}

fn put(object: &mut Value, path: &FieldPath, value: Value) {
    let (Some(parent), Some(Segment::Key(field))) = (path.parent(), path.segments().last()) else {
        return;
    };
    let parent = object.pointer_mut(&parent.to_pointer());
    if let Some(parent) = parent.and_then(Value::as_object_mut) {
        parent.insert(field.to_string(), value);
    }
}

/// The fields that `after` has and `before` lacks, in the order of `after`.
pub fn additions(before: &Value, after: &Value, path: &FieldPath) -> Vec<Addition> {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => after
            .iter()
            .flat_map(|(name, value)| {
                let path = path.clone().key(name.clone());
                match before.get(name) {
                    None | Some(Value::Null) if !value.is_null() => vec![Addition {
                        path,
                        value: value.clone(),
                    }],
                    Some(before) => additions(before, value, &path),
                    None => Vec::new(),
                }
            })
            .collect(),
        (Value::Array(before), Value::Array(after)) => before
            .iter()
            .zip(after)
            .enumerate()
            .flat_map(|(index, (before, after))| additions(before, after, &path.clone().index(index)))
            .collect(),
        _ => Vec::new(),
    }
}
