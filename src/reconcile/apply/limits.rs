//! The limits of pools that leave them to poolgate: `spec.limits.nodes`, and the annotation of a pool with a schedule. They are
//! applied server-side with a separate field manager, so that the API server knows the owner. The number of the annotation is
//! the limit in force: see the gate.

use kube::api::{ListParams, Patch, PatchParams};
use poolgate_core::api::NODE_LIMIT_ANNOTATION;
use poolgate_core::nodelimit::plan::{LimitWrite, Pool};
use poolgate_core::policy::Policy;
use serde_json::json;

use super::{PAGE, WriteError, Writer};
use crate::cluster::Collection;
use crate::cluster::objects::{LIMIT_MANAGER, NODE_POOLS, PoolObject};

impl Writer {
    /// Writes a limit, all of it: what an apply no longer names is removed.
    pub async fn limit_nodes(&self, pool: &Pool, limit: LimitWrite) -> Result<(), WriteError> {
        let LimitWrite { annotation, nodes } = limit;
        if self.observe {
            tracing::info!(
                nodepool = &*pool.name,
                annotation,
                nodes,
                "would write the node limit"
            );
            return Ok(());
        }
        // A new pool of the same name has another UID.
        let mut metadata = json!({"name": &*pool.name, "uid": &*pool.uid});
        if let (Some(limit), Some(metadata)) = (annotation, metadata.as_object_mut()) {
            let annotations = json!({NODE_LIMIT_ANNOTATION: limit.to_string()});
            metadata.insert("annotations".to_owned(), annotations);
        }
        let object = json!({
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": metadata,
            "spec": {"limits": {"nodes": nodes.to_string()}},
        });
        // The annotation says that the field is poolgate's, so it is taken from any other manager.
        let params = PatchParams::apply(LIMIT_MANAGER).force();
        let patch = Patch::Apply(&object);
        let pools = self.written(NODE_POOLS);
        let written = |by| pools.patch(&pool.name, &params, &patch, by);
        if self.write_unless_stale("limit", written).await?.is_some() {
            tracing::info!(nodepool = &*pool.name, annotation, nodes, "wrote the node limit");
        }
        Ok(())
    }
}

/// Writes the full limit into every pool that leaves it to poolgate, because no reconciler is left to raise it
/// again. Returns the number of pools written. After an error the other pools are still written; the first error is returned.
pub async fn restore_limits(writer: &Writer) -> Result<usize, WriteError> {
    let pools = Collection::<PoolObject>::new(writer.client.clone(), NODE_POOLS);
    let mut pages = pools.pages(ListParams::default().limit(PAGE));
    let (mut count, mut first) = (0, Ok(()));
    loop {
        let page = match writer.call(|by| pages.next(by)).await {
            // Karpenter's definitions are deleted, and the pools with them.
            Err(error) if error.is_gone() => None,
            page => page?,
        };
        let Some(page) = page else {
            return first.map(|()| count);
        };
        for object in page {
            let pool = Pool::of(&object.kept(), &Policy::default());
            if let Some(limit) = pool.restored_limit() {
                first = first.and(writer.limit_nodes(&pool, limit).await);
                count += 1;
            }
        }
    }
}
