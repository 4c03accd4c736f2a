//! Helpers for the tests of `nodeClassRef`.

use serde_json::{Value, json};

/// A NodePool with this node class.
pub fn pool(group: &str, kind: &str, name: &str) -> Value {
    json!({"spec": {"template": {"spec": {"nodeClassRef": {"group": group, "kind": kind, "name": name}}}}})
}
