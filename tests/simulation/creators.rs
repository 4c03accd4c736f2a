//! Creators of NodeClaims in worlds without a Karpenter. They want more nodes than a pool may have, keep them for seconds or
//! minutes, and replace some.

use std::rc::Rc;
use std::time::Duration;

use serde_json::json;
use tokio::task::spawn_local;
use tokio::time::sleep;

use super::cluster::CLAIMS;
use super::world::World;

/// How many want a node of each pool at any time.
const CREATORS: usize = 9;

pub(super) fn start(world: &Rc<World>) {
    for pool in &world.pools {
        for _ in 0..CREATORS {
            let (world, pool) = (Rc::clone(world), pool.clone());
            spawn_local(async move {
                while world.is_wanted() {
                    want(&world, &pool).await;
                }
            });
        }
    }
}

/// Wants one node, and has it for a while.
async fn want(world: &Rc<World>, pool: &str) {
    sleep(world.between(100, 8_000)).await;
    let is_dry_run = world.chance(0.05);
    let Some(name) = world.create(pool, is_dry_run).await else {
        // As Karpenter, a creator that was denied waits longer.
        return sleep(world.between(1_000, 30_000)).await;
    };
    sleep(world.between(500, 10_000)).await;
    set(world, &name, &json!([{"type": "Initialized", "status": "True"}]));
    sleep(world.between(1_000, 90_000)).await;
    if !world.is_troubled() {
        // From now on nothing goes, so that everything is filled.
        while world.is_wanted() && exists(world, &name) {
            sleep(Duration::from_secs(1)).await;
        }
        return;
    }
    if world.chance(0.3) {
        replace(world, pool, &name).await;
    } else {
        world.delete(&name).await;
    }
}

/// Replaces a node as Karpenter does: says why, creates another one, and deletes it; or gives up.
async fn replace(world: &Rc<World>, pool: &str, name: &str) {
    let initialized = json!({"type": "Initialized", "status": "True"});
    let why = json!({"type": "DisruptionReason", "status": "True", "reason": "Drifted"});
    set(world, name, &json!([initialized, why]));
    sleep(world.between(50, 2_000)).await;
    for _ in 0..3 {
        if let Some(other) = world.create(pool, false).await {
            set(world, &other, &json!([initialized]));
            world.delete(name).await;
            sleep(world.between(1_000, 60_000)).await;
            world.delete(&other).await;
            return;
        }
        sleep(world.between(1_000, 4_000)).await;
    }
    set(world, name, &json!([initialized]));
    sleep(world.between(1_000, 20_000)).await;
    world.delete(name).await;
}

fn exists(world: &World, name: &str) -> bool {
    world.cluster.lock().store.get(CLAIMS, name).is_some()
}

fn set(world: &World, name: &str, conditions: &serde_json::Value) {
    let patch = json!({"status": {"conditions": conditions}});
    // It may be gone.
    let _ = world.cluster.change(|store| store.merge(CLAIMS, name, &patch));
}
