//! Who wrote which fields of an object last, as the API server keeps it (`metadata.managedFields`).

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

/// The field managers of an object.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ManagedFields(Vec<ManagerFields>);

/// One field manager, and the fields that it wrote last.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ManagerFields {
    manager: String,
    fields_v1: Value,
}

impl ManagedFields {
    /// The managers that wrote a field of this name last, at any depth.
    pub fn writers(&self, field: &str) -> BTreeSet<&str> {
        let key = format!("f:{field}");
        let wrote = self.0.iter().filter(|one| contains_key(&one.fields_v1, &key));
        wrote.map(|one| one.manager.as_str()).collect()
    }
}

/// The API server's decoder bounds the depth.
fn contains_key(fields: &Value, key: &str) -> bool {
    let Value::Object(fields) = fields else {
        return false;
    };
    fields
        .iter()
        .any(|(name, inner)| name == key || contains_key(inner, key))
}
