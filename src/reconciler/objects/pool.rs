//! NodePools.

use std::sync::Arc;

use poolgate_core::nodelimit::plan::Pool;
use poolgate_core::policy::Policy;
use serde_json::{Value, json};

use crate::objects::NodePool;

/// The fields of a NodePool that are read. Those that users write may have any type, so that no pool stops the
/// watch.
pub(crate) type PoolObject = NodePool<Value>;

impl PoolObject {
    /// What is kept of the object. [`Pool`] is read from it again under every new policy.
    pub(crate) fn kept(self) -> Value {
        let meta = self.metadata;
        // If it is null, the pool is not being deleted.
        let metadata = json!({
            "name": meta.name,
            "uid": meta.uid,
            "annotations": meta.annotations,
            "deletionTimestamp": meta.deletion_timestamp,
        });
        json!({"metadata": metadata, "spec": self.spec})
    }

    /// A pool that no longer exists: whatever was done for it is undone.
    pub(crate) fn departed(name: &str, policy: &Policy) -> Arc<Pool> {
        Arc::new(Pool::of(&json!({"metadata": {"name": name}}), policy))
    }
}
