//! Deletes NodeClaims, and reads the objects that are checked right before.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use poolgate_core::facts::NODEPOOL_LABEL;
use poolgate_core::nodelimit::plan::{DEADLINE_ANNOTATION, LedgerState, ObjectRef};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{PAGE, WriteError, Writer};
use crate::cluster::Collection;
use crate::cluster::objects::{
    ClaimObject, NODE_CLAIMS, NODE_POOLS, NODES, NodeClaim, NodeObject, PODS, PodObject, PoolObject,
};
use crate::reconcile::index::ReadClaim;

/// The number of claims per page of a list. Few pools need a second page, and only metadata is sent.
const CLAIMS_PAGE: u32 = 2_000;

/// The claims of a pool, by UID, and since when each is being deleted.
pub type Listed = BTreeMap<Box<str>, Option<Timestamp>>;

impl Writer {
    /// The pool as it is stored now; `None` if it is gone.
    pub async fn read_pool(&self, name: &str) -> Result<Option<PoolObject>, WriteError> {
        let pools = Collection::new(self.client.clone(), NODE_POOLS);
        self.call(|by| pools.get_opt(name, by)).await
    }

    /// The claims of a pool as they are stored now.
    pub async fn list_claims(&self, pool: &str) -> Result<Listed, WriteError> {
        let selector = format!("{NODEPOOL_LABEL}={pool}");
        let claims = Collection::<NodeClaim>::new(self.client.clone(), NODE_CLAIMS);
        let params = ListParams::default().labels(&selector).limit(CLAIMS_PAGE);
        let mut pages = claims.metadata_pages(params);
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

    /// Bounds the drain of a claim that is being deleted, if nothing bounds it yet.
    pub async fn bound_drain(&self, claim: &ObjectRef, at: Timestamp) -> Result<(), WriteError> {
        if self.observe {
            tracing::info!(nodeclaim = &*claim.name, %at, "would set the termination deadline");
            return Ok(());
        }
        // A deletion is never undone, so the UID is enough.
        let patch = json!({"metadata": {
            "uid": &*claim.uid,
            "annotations": {DEADLINE_ANNOTATION: format!("{at:.0}")},
        }});
        let claims = self.written(NODE_CLAIMS);
        let (params, patch) = (PatchParams::default(), Patch::Merge(&patch));
        let written = |by| claims.patch_metadata(&claim.name, &params, &patch, by);
        if self.write_unless_stale("deadline", written).await?.is_some() {
            tracing::info!(nodeclaim = &*claim.name, %at, "set the termination deadline");
        }
        Ok(())
    }

    /// A claim with its node and the pods on it, read side by side; `None` if it is gone. The account may list them, and not
    /// get one.
    pub async fn read_claim(&self, claim: &str, node: Option<&str>) -> Result<Option<ReadClaim>, WriteError> {
        let claim = self.read_one::<ClaimObject>(NODE_CLAIMS, claim);
        let its_node = async {
            let Some(node) = node else {
                return Ok((None, Vec::new()));
            };
            tokio::try_join!(
                self.read_one::<NodeObject>(NODES, node),
                self.list_bound_pods(node)
            )
        };
        let (claim, (node, pods)) = tokio::try_join!(claim, its_node)?;
        Ok(claim.map(|claim| ReadClaim { claim, node, pods }))
    }

    async fn read_one<K: DeserializeOwned + Clone + Send + 'static>(
        &self,
        path: &str,
        name: &str,
    ) -> Result<Option<K>, WriteError> {
        let params = ListParams::default().fields(&format!("metadata.name={name}"));
        let objects = Collection::<K>::new(self.client.clone(), path);
        let mut pages = objects.pages(params);
        let first = self.call(|by| pages.next(by)).await?;
        Ok(first.and_then(|mut objects| objects.pop()))
    }

    async fn list_bound_pods(&self, node: &str) -> Result<Vec<PodObject>, WriteError> {
        let bound = ListParams::default()
            .fields(&format!("spec.nodeName={node}"))
            .limit(PAGE);
        let pods = Collection::<PodObject>::new(self.client.clone(), PODS);
        let mut pages = pods.pages(bound);
        let mut listed = Vec::new();
        while let Some(page) = self.call(|by| pages.next(by)).await? {
            listed.extend(page);
        }
        Ok(listed)
    }

    /// Deletes a claim of a pool, if it is still this version of the one that the ledger lists. Returns whether it did.
    pub async fn delete(
        &self,
        pool: &str,
        claim: &ObjectRef,
        version: &str,
        ledger: &LedgerState,
    ) -> Result<bool, WriteError> {
        if !ledger.lists(&claim.uid) {
            self.metrics
                .invariants
                .violated("delete_not_listed", pool, &claim.name);
            return Ok(false);
        }
        if self.observe {
            tracing::info!(nodeclaim = &*claim.name, "would delete NodeClaim");
            return Ok(false);
        }
        let params = DeleteParams::default().preconditions(Preconditions {
            uid: Some((*claim.uid).into()),
            resource_version: Some(version.to_owned()),
        });
        let claims = self.written(NODE_CLAIMS);
        let deleted = |by| claims.delete(&claim.name, &params, by);
        let deleted = self.write_unless_stale("terminate", deleted).await?;
        Ok(deleted.is_some())
    }
}
