//! What must be true when nothing has gone wrong for a while.

use serde_json::Value;

use super::cluster::{CLAIMS, NODES};
use super::history::Now;
use super::karpenter::{PODS_WANTED, is_true};
use super::store::metadata;
use super::world::{Scene, World};

/// More pods wait than there are places: every place is filled, and nothing is left of what went wrong.
pub(super) fn filled(world: &World, scene: Scene) {
    for pool in &world.pools {
        let Some(now) = world.cluster.lock().checker.now(pool) else {
            continue;
        };
        let is_filled = match scene {
            Scene::Gates => now.claims >= now.limit.nodes,
            Scene::Reconcilers => now.claims >= now.limit.nodes.min(PODS_WANTED),
        };
        if !is_filled || now.is_closed {
            world.fail(format!(
                "{pool}: a place is free, or the ledger closed, although more are wanted: {now:?}"
            ));
        }
        if scene == Scene::Reconcilers {
            reconciled(world, pool, now);
        }
    }
    let leader = world.cluster.lock().checker.leader().to_owned();
    if scene == Scene::Reconcilers && !world.is_running(&leader) {
        world.fail(format!("the leader is {leader:?}, which does not run"));
    }
}

fn reconciled(world: &World, pool: &str, now: Now) {
    if now.undeleted > now.limit.nodes + now.limit.surge {
        world.fail(format!("{pool}: nodes above the limit stay: {now:?}"));
    }
    let nodes: Vec<_> = world.cluster.lock().store.list(NODES).cloned().collect();
    for node in nodes
        .iter()
        .filter(|node| node["metadata"]["labels"]["karpenter.sh/nodepool"] == *pool)
    {
        let name = metadata(node, "name");
        // If the surge is used by nodes that are broken themselves, their turn does not come: docs/design/plan.md.
        let claim = world.cluster.lock().store.get(CLAIMS, name);
        let is_going = claim.is_some_and(|claim| !claim["metadata"]["deletionTimestamp"].is_null());
        if !is_true(node, "Ready") && !is_going && now.claims <= now.limit.nodes {
            world.fail(format!("{pool}: the broken node {name} stays: {now:?}"));
        }
        if is_held(node) && now.claims + now.reserved < now.limit.nodes {
            world.fail(format!(
                "{pool}: {name} is held, although places are free: {now:?}"
            ));
        }
    }
}

fn is_held(node: &Value) -> bool {
    !node["metadata"]["annotations"]["poolgate.dev/held-for"].is_null()
}

/// Nobody wants anything any more: nothing is reserved, and no surge is open.
pub(super) fn settled(world: &World) {
    for pool in &world.pools {
        let Some(now) = world.cluster.lock().checker.now(pool) else {
            continue;
        };
        if now.reserved > 0 {
            world.fail(format!("{pool}: reservations are left: {now:?}"));
        }
        if now.surged > now.claims.saturating_sub(now.limit.nodes) {
            world.fail(format!(
                "{pool}: a surge is open, and the pool is not above its limit: {now:?}"
            ));
        }
    }
}
