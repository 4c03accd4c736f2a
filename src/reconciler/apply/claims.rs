//! Deletes NodeClaims, and reads the objects that are checked right before.

use std::collections::HashMap;

use jiff::Timestamp;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use poolgate_core::karpenter::NODEPOOL_LABEL;
use poolgate_core::nodelimit::plan::{DEADLINE_ANNOTATION, ObjectRef};
use serde_json::json;

use super::{PAGE, WriteError, Writer};
use crate::cluster::Collection;
use crate::cluster::objects::{NODE_CLAIMS, NODE_POOLS, NODES, NodeClaim, PoolObject};
use crate::reconciler::objects::{ClaimObject, NodeObject};

/// The claims of a pool, by UID, and since when each is being deleted.
pub type Listed = HashMap<Box<str>, Option<Timestamp>>;

impl Writer {
    /// The pool as it is stored now; `None` if it is gone.
    pub async fn read_pool(&self, name: &str) -> Result<Option<PoolObject>, WriteError> {
        let pools = Collection::new(self.client.clone(), NODE_POOLS);
        self.call(|by| pools.get_opt(name).by(by)).await
    }

    /// The claims of a pool as they are stored now.
    pub async fn list_claims(&self, pool: &str) -> Result<Listed, WriteError> {
        let selector = format!("{NODEPOOL_LABEL}={pool}");
        let claims = Collection::<NodeClaim>::new(self.client.clone(), NODE_CLAIMS);
        let mut pages = claims.pages(ListParams::default().labels(&selector).limit(PAGE));
        let mut listed = Listed::new();
        while let Some(page) = self.call(|by| pages.next(by)).await? {
            for claim in page {
                let deleted = claim.metadata.deletion_timestamp.as_deref();
                // An unreadable time still means that it is being deleted.
                let deleted = deleted.map(|at| at.parse().unwrap_or(Timestamp::UNIX_EPOCH));
                listed.insert(claim.metadata.uid, deleted);
            }
        }
        Ok(listed)
    }

    /// Deletes a claim, if it is still the one the plan chose. Returns whether it did.
    pub async fn terminate(&self, claim: &ObjectRef) -> Result<bool, WriteError> {
        self.delete(claim, None).await
    }

    /// The same, if it is still this version of it.
    pub async fn delete_version(&self, claim: &ObjectRef, version: &str) -> Result<bool, WriteError> {
        self.delete(claim, Some(version)).await
    }

    /// Bounds the drain of a claim that is being deleted, if nothing bounds it yet.
    pub async fn bound_drain(&self, claim: &ObjectRef, at: Timestamp) -> Result<(), WriteError> {
        if self.observe {
            tracing::info!(nodeclaim = &*claim.name, %at, "would bound the drain");
            return Ok(());
        }
        // What is being deleted stays so: the UID is enough.
        let patch = json!({"metadata": {
            "uid": &*claim.uid,
            "annotations": {DEADLINE_ANNOTATION: format!("{at:.0}")},
        }});
        let claims = self.written(NODE_CLAIMS);
        let (params, patch) = (PatchParams::default(), Patch::Merge(&patch));
        let written = |by| claims.patch_metadata(&claim.name, &params, &patch).by(by);
        if self.write_unless_stale("deadline", written).await?.is_some() {
            tracing::info!(nodeclaim = &*claim.name, %at, "its drain is bounded");
        }
        Ok(())
    }

    /// The claims of a pool as they are stored now, with all that is read of them.
    pub async fn list_whole_claims(&self, pool: &str) -> Result<Vec<ClaimObject>, WriteError> {
        let selector = format!("{NODEPOOL_LABEL}={pool}");
        let claims = Collection::<ClaimObject>::new(self.client.clone(), NODE_CLAIMS);
        let mut pages = claims.pages(ListParams::default().labels(&selector).limit(PAGE));
        let mut listed = Vec::new();
        while let Some(page) = self.call(|by| pages.next(by)).await? {
            listed.extend(page);
        }
        Ok(listed)
    }

    /// A node as it is stored now; `None` if it is gone. The account may list nodes, and not get one.
    pub async fn read_node(&self, name: &str) -> Result<Option<NodeObject>, WriteError> {
        let params = ListParams::default().fields(&format!("metadata.name={name}"));
        let nodes = Collection::<NodeObject>::new(self.client.clone(), NODES);
        let mut pages = nodes.pages(params);
        let first = self.call(|by| pages.next(by)).await?;
        Ok(first.and_then(|mut nodes| nodes.pop()))
    }

    async fn delete(&self, claim: &ObjectRef, version: Option<&str>) -> Result<bool, WriteError> {
        if self.observe {
            tracing::info!(nodeclaim = &*claim.name, "would terminate");
            return Ok(false);
        }
        let params = DeleteParams::default().preconditions(Preconditions {
            uid: Some((*claim.uid).into()),
            resource_version: version.map(str::to_owned),
        });
        let claims = self.written(NODE_CLAIMS);
        let deleted = |by| claims.delete(&claim.name, &params).by(by);
        let deleted = self.write_unless_stale("terminate", deleted).await?;
        Ok(deleted.is_some())
    }
}
