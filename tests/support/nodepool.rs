//! NodePools without a mistake: each test adds what it is about.

use serde_json::{Value, json};

/// A NodePool without a fault, as somebody would write it.
pub(crate) const SOUND: &str = include_str!("../cases/sound.yaml");

/// A NodePool with no more than it must have; `spec` is merged over that.
pub(crate) fn node_pool(name: &str, spec: &Value) -> Value {
    let mut pool = json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": {"spec": {
            "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
            "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
        }}},
    });
    merge(&mut pool["spec"], spec);
    pool
}

/// Merges objects field by field; anything else is replaced.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            for (key, value) in patch {
                merge(target.entry(key).or_insert(Value::Null), value);
            }
        }
        (target, patch) => *target = patch.clone(),
    }
}
