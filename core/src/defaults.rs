//! What admission writes into a NodePool where its author left a field out.

use serde_json::Value;

use crate::diagnostic::FieldPath;

/// A value to be added at a path that is absent (or an explicit `null`) and whose parent exists, if need be
/// because an earlier default of the same list makes it.
#[derive(Debug, Clone, PartialEq)]
pub struct DefaultValue {
    /// The absent field.
    pub path: FieldPath,
    /// What it becomes.
    pub value: Value,
}
