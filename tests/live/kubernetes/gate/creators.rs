//! Those who ask for places, all at once and for as long as they may.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::api::{DeleteParams, DynamicObject, PostParams};
use kube::{Api, Error, ResourceExt};
use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::json;
use tokio::time::sleep;

use super::census::Census;
use crate::support::nodeclaim::node_claim;

/// What the creators have done.
#[derive(Debug, Default)]
pub struct Tally {
    pub created: AtomicU64,
    pub denied: AtomicU64,
    pub failed: AtomicU64,
    /// What the last failure was.
    pub failure: Mutex<String>,
}

/// What became of a creation.
pub enum Try {
    Created(String),
    Denied,
    Failed(Error),
}

pub async fn try_create(api: &Api<DynamicObject>, pool: &str, census: &Census) -> Try {
    let mut object = node_claim("", pool);
    object["metadata"]["name"] = json!(null);
    object["metadata"]["generateName"] = json!(format!("{pool}-"));
    let object: DynamicObject = serde_json::from_value(object).expect("a claim");
    let call = census.asked();
    match api.create(&PostParams::default(), &object).await {
        Ok(claim) => {
            census.created(call, &claim);
            Try::Created(claim.name_any())
        }
        Err(Error::Api(status)) if status.message.contains("is at its node limit") => Try::Denied,
        Err(error) => Try::Failed(error),
    }
}

/// Creates claims for as long as it may, and deletes each after a while.
pub async fn create_and_delete(
    api: Api<DynamicObject>,
    pool: &'static str,
    (tally, census): (Arc<Tally>, Arc<Census>),
    stop: Arc<AtomicBool>,
    mut chance: StdRng,
) {
    while !stop.load(Ordering::Relaxed) {
        let pause = match try_create(&api, pool, &census).await {
            Try::Created(name) => {
                tally.created.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_millis(chance.random_range(0..200))).await;
                // One that is not deleted is one more for the others to count.
                let _ = api.delete(&name, &DeleteParams::default()).await;
                0
            }
            Try::Denied => {
                tally.denied.fetch_add(1, Ordering::Relaxed);
                chance.random_range(5..100)
            }
            Try::Failed(error) => {
                *tally.failure.lock().expect("a lock") = error.to_string();
                tally.failed.fetch_add(1, Ordering::Relaxed);
                20
            }
        };
        sleep(Duration::from_millis(pause)).await;
    }
}
