//! Freezes of NodePools, as poolgate leaves: it ends them all, or finds those that last.

use std::collections::BTreeSet;

use kube::api::{ListParams, Patch, PatchParams};
use poolgate_core::api::FREEZE_ANNOTATION;
use poolgate_core::nodelimit::plan::Pool;
use poolgate_core::policy::Policy;
use serde_json::json;

use super::{PAGE, WriteError, Writer};
use crate::cluster::Collection;
use crate::cluster::objects::{NODE_POOLS, PoolObject};

/// The names of the pools that are frozen now.
pub async fn frozen_pools(writer: &Writer) -> Result<BTreeSet<Box<str>>, WriteError> {
    let now = writer.clock.wall();
    let frozen = with_freeze(writer).await?.into_iter();
    let frozen = frozen.filter(|pool| pool.is_frozen_at(now));
    Ok(frozen.map(|pool| pool.name.as_ref().into()).collect())
}

/// Removes the annotation from every pool, whichever field manager owns it.
pub async fn end_freezes(writer: &Writer) -> Result<(), WriteError> {
    let pools = writer.written(NODE_POOLS);
    for pool in with_freeze(writer).await? {
        let patch = json!({"metadata": {"uid": &*pool.uid, "annotations": {FREEZE_ANNOTATION: null}}});
        let (params, patch) = (PatchParams::default(), Patch::Merge(&patch));
        let written = |by| pools.patch_metadata(&pool.name, &params, &patch, by);
        if writer.write_unless_stale("freeze", written).await?.is_some() {
            tracing::info!(nodepool = &*pool.name, "ended a freeze");
        }
    }
    Ok(())
}

async fn with_freeze(writer: &Writer) -> Result<Vec<Pool>, WriteError> {
    let pools = Collection::<PoolObject>::new(writer.client.clone(), NODE_POOLS);
    let mut pages = pools.pages(ListParams::default().limit(PAGE));
    let mut found = Vec::new();
    loop {
        let page = match writer.call(|by| pages.next(by)).await {
            // Karpenter's definitions are deleted, and the pools with them.
            Err(error) if error.is_gone() => None,
            page => page?,
        };
        let Some(page) = page else { return Ok(found) };
        let read = page
            .iter()
            .map(|object| Pool::of(&object.kept(), &Policy::default()));
        found.extend(read.filter(|pool| pool.freeze.is_some()));
    }
}
