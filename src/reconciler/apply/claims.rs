//! Deletes NodeClaims, and reads the objects that are checked right before.

use std::collections::HashMap;

use jiff::Timestamp;
use kube::api::{DeleteParams, ListParams, Preconditions};
use poolgate_core::karpenter::NODEPOOL_LABEL;
use poolgate_core::nodelimit::plan::ObjectRef;

use super::{PAGE, WriteError, Writer};
use crate::cluster::{Collection, turn_page};
use crate::objects::{NODE_CLAIMS, NODE_POOLS, NodeClaim, PoolObject};

/// The claims of a pool, by UID, and since when each is being deleted.
pub(in crate::reconciler) type Listed = HashMap<Box<str>, Option<Timestamp>>;

impl Writer {
    /// The pool as it is stored now; `None` if it is gone.
    pub(in crate::reconciler) async fn read_pool(
        &self,
        name: &str,
    ) -> Result<Option<PoolObject>, WriteError> {
        let pools = Collection::new(self.client.clone(), NODE_POOLS);
        self.call(pools.get_opt(name)).await
    }

    /// The claims of a pool as they are stored now.
    pub(in crate::reconciler) async fn list_claims(&self, pool: &str) -> Result<Listed, WriteError> {
        let selector = format!("{NODEPOOL_LABEL}={pool}");
        let mut params = ListParams::default().labels(&selector).limit(PAGE);
        let claims = Collection::<NodeClaim>::new(self.client.clone(), NODE_CLAIMS);
        let mut listed = Listed::new();
        loop {
            let page = self.call(claims.list(&params)).await?;
            for claim in page.items {
                let deleted = claim.metadata.deletion_timestamp.as_deref();
                // An unreadable time still means that it is being deleted.
                let deleted = deleted.map(|at| at.parse().unwrap_or(Timestamp::UNIX_EPOCH));
                listed.insert(claim.metadata.uid, deleted);
            }
            if !turn_page(&mut params, page.metadata.continue_) {
                return Ok(listed);
            }
        }
    }

    /// Deletes a claim, if it is still the one the plan chose. Returns whether it did.
    pub(in crate::reconciler) async fn terminate(&self, claim: &ObjectRef) -> Result<bool, WriteError> {
        if self.observe {
            tracing::info!(nodeclaim = &*claim.name, "would terminate");
            return Ok(false);
        }
        let params = DeleteParams::default().preconditions(Preconditions {
            uid: Some((*claim.uid).into()),
            resource_version: None,
        });
        let claims = self.of_kind("NodeClaim");
        let deleted = claims.delete(&claim.name, &params);
        let deleted = self.write_unless_stale("terminate", deleted).await?;
        Ok(deleted.is_some())
    }
}
