//! What the tests of `nodeClassRef` share.

use serde_json::{Value, json};

/// A NodePool whose nodes are of this node class.
pub(super) fn pool(group: &str, kind: &str, name: &str) -> Value {
    json!({"spec": {"template": {"spec": {"nodeClassRef": {"group": group, "kind": kind, "name": name}}}}})
}
