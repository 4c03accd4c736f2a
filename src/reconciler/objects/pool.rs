//! NodePools.

use std::sync::Arc;

use poolgate_core::nodelimit::plan::Pool;
use poolgate_core::policy::Policy;
use serde_json::{Value, json};

use crate::objects::NodePool;

/// The fields of a NodePool that are read; those that users write of any type, so that no pool stops the watch.
pub(crate) type PoolObject = NodePool<Value>;

impl PoolObject {
    /// What is kept of it, from which [`Pool`] is read under every new policy.
    pub(crate) fn kept(self) -> Value {
        let meta = self.metadata;
        // Where it is null, the pool is not on its way out.
        let metadata = json!({
            "name": meta.name,
            "uid": meta.uid,
            "annotations": meta.annotations,
            "deletionTimestamp": meta.deletion_timestamp,
        });
        json!({"metadata": metadata, "spec": self.spec})
    }

    /// A pool that is not there any more: what was done for it is taken back.
    pub(crate) fn departed(name: &str, policy: &Policy) -> Arc<Pool> {
        Arc::new(Pool::of(&json!({"metadata": {"name": name}}), policy))
    }
}
