//! How many claims a pool has at each moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::StreamExt;
use kube::api::{DynamicObject, ListParams, WatchEvent, WatchParams};
use kube::{Api, ResourceExt};

use super::objects::of_pool;

/// How many claims were stored, at each of their revisions.
#[derive(Debug, Default)]
pub struct Census {
    pub now: AtomicU64,
    pub most: AtomicU64,
}

/// Counts by the events of a watch, which misses no revision.
pub async fn count(api: Api<DynamicObject>, pool: &'static str, census: Arc<Census>) {
    let mine = of_pool(pool);
    let list = api
        .list(&ListParams::default().labels(&mine))
        .await
        .expect("a list");
    let mut version = list.metadata.resource_version.expect("a version");
    let mut now = list.items.len() as u64;
    let params = WatchParams::default().timeout(280).labels(&mine);
    loop {
        let mut events = api.watch(&params, &version).await.expect("a watch").boxed();
        while let Some(event) = events.next().await {
            match event.expect("an event") {
                WatchEvent::Added(claim) => {
                    now += 1;
                    version = claim.resource_version().expect("a version");
                }
                WatchEvent::Deleted(claim) => {
                    now -= 1;
                    version = claim.resource_version().expect("a version");
                }
                WatchEvent::Modified(claim) => version = claim.resource_version().expect("a version"),
                WatchEvent::Bookmark(bookmark) => version = bookmark.metadata.resource_version,
                WatchEvent::Error(status) => panic!("the watch ends: {}", status.message),
            }
            census.now.store(now, Ordering::Relaxed);
            census.most.fetch_max(now, Ordering::Relaxed);
        }
    }
}
