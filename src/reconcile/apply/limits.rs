//! `spec.limits.nodes` of pools that leave it to poolgate. It is applied server-side with a separate field manager,
//! so that the API server knows the owner. The number of the annotation is the limit in force: see the gate.

use kube::api::{ListParams, Patch, PatchParams};
use poolgate_core::facts::ApiVersion;
use poolgate_core::json::Json;
use poolgate_core::nodelimit::plan::Pool;
use poolgate_core::policy::Policy;
use poolgate_core::pool::NodePool;
use serde_json::json;

use super::{PAGE, WriteError, Writer};
use crate::cluster::Collection;
use crate::cluster::objects::{NODE_POOLS, PoolObject};

/// The name by which poolgate owns these limits.
const MANAGER: &str = "poolgate-node-limit";

impl Writer {
    /// Writes the limit that Karpenter plans with.
    pub async fn limit_nodes(&self, pool: &Pool, nodes: u32) -> Result<(), WriteError> {
        if self.observe {
            tracing::info!(nodepool = &*pool.name, nodes, "would write spec.limits.nodes");
            return Ok(());
        }
        let object = json!({
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            // A new pool of the same name has another UID.
            "metadata": {"name": &*pool.name, "uid": &*pool.uid},
            "spec": {"limits": {"nodes": nodes.to_string()}},
        });
        // The annotation says that the field is poolgate's, so it is taken from any other manager.
        let params = PatchParams::apply(MANAGER).force();
        let patch = Patch::Apply(&object);
        let pools = self.written(NODE_POOLS);
        let written = |by| pools.patch(&pool.name, &params, &patch, by);
        if self.write_unless_stale("limit", written).await?.is_some() {
            tracing::info!(nodepool = &*pool.name, nodes, "wrote spec.limits.nodes");
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
            let object = object.kept();
            let limit = NodePool::view(ApiVersion::V1, &Json::from(&object)).annotated_node_limit();
            let pool = Pool::of(&object, &Policy::default());
            if let Some(limit) = limit.filter(|limit| pool.written_nodes != Some(*limit)) {
                first = first.and(writer.limit_nodes(&pool, limit).await);
                count += 1;
            }
        }
    }
}
