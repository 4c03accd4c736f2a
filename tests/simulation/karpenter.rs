//! A small Karpenter with its machines, its scheduler and its pods: it provisions, disrupts drifted nodes, repairs broken
//! ones, and drains what is deleted. One disruption at a time in all pools, as Karpenter has it.
//!
//! Like the real one it counts the nodes that are neither deleted nor replaced already against `spec.limits.nodes`. It
//! disrupts in steps that others see: taint, condition, creation; and condition and taint go again if that fails. After each
//! change of a spec it takes the pool for not ready for a moment.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep};

use super::cluster::{self, CLAIMS, NODES, PODS, POOLS};
use super::store::metadata;
use super::world::World;

/// How many pods want a node of their own in each pool.
pub(super) const PODS_WANTED: usize = 6;

/// How often Karpenter looks for something to disrupt.
const DISRUPTION: Duration = Duration::from_secs(10);

const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";
const DO_NOT_REPAIR: &str = "karpenter.sh/do-not-repair";

pub(super) fn start(world: &Rc<World>) {
    for pool in &world.pools {
        for _ in 0..PODS_WANTED {
            add_pod(world, pool);
        }
        let (world, pool) = (Rc::clone(world), pool.clone());
        spawn_local(async move {
            while world.is_wanted() {
                sleep(world.between(2_000, 12_000)).await;
                provision(&world, &pool);
            }
        });
    }
    let observed = Rc::clone(world);
    spawn_local(async move {
        loop {
            observe(&observed);
            sleep(observed.between(50, 800)).await;
        }
    });
    let drained = Rc::clone(world);
    spawn_local(async move {
        loop {
            drain(&drained);
            sleep(Duration::from_secs(1)).await;
        }
    });
    let disrupted = Rc::clone(world);
    spawn_local(async move {
        // As controller-runtime does, it waits longer after each error.
        let mut backoff = Duration::from_millis(500);
        loop {
            if disrupt(&disrupted).await {
                backoff = Duration::from_millis(500);
                sleep(DISRUPTION).await;
            } else {
                sleep(backoff).await;
                backoff = (backoff * 2).min(Duration::from_secs(40));
            }
        }
    });
    let users = Rc::clone(world);
    spawn_local(async move {
        while users.is_troubled() {
            sleep(users.between(5_000, 40_000)).await;
            touch(&users);
        }
    });
}

fn pool_of(object: &Value) -> &str {
    object["metadata"]["labels"]["karpenter.sh/nodepool"]
        .as_str()
        .unwrap_or_default()
}

fn list(world: &World, path: &str, pool: &str) -> Vec<Arc<Value>> {
    let inner = world.cluster.lock();
    let objects = inner.store.list(path).filter(|object| pool_of(object) == pool);
    objects.cloned().collect()
}

fn is_going(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

pub(super) fn is_true(object: &Value, kind: &str) -> bool {
    let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|condition| condition["type"] == kind && condition["status"] == "True")
}

fn patch(world: &World, path: &str, name: &str, change: &Value) {
    // It may be gone.
    let _ = world.cluster.change(|store| store.merge(path, name, change));
}

/// Sets the conditions of a claim that are true, with the reason of a disruption.
fn set(world: &World, claim: &str, conditions: &[&str], reason: Option<&str>) {
    let at = world.cluster.text_time();
    let of = |kind: &str, reason: &str| json!({"type": kind, "status": "True", "reason": reason, "lastTransitionTime": at});
    let mut all: Vec<_> = conditions.iter().map(|kind| of(kind, kind)).collect();
    all.extend(reason.map(|reason| of("DisruptionReason", reason)));
    patch(world, CLAIMS, claim, &json!({"status": {"conditions": all}}));
}

/// Sets Karpenter's taint on a node, or takes it off.
fn taint(world: &World, node: &str, is_tainted: bool) {
    let taint = json!([{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]);
    let taints = if is_tainted { taint } else { json!(null) };
    patch(world, NODES, node, &json!({"spec": {"taints": taints}}));
}

/// Looks at the pools' specs. Until then a pool with another one is not ready.
fn observe(world: &World) {
    for pool in &world.pools {
        let stored = world.cluster.lock().store.get(POOLS, pool);
        world.observes(pool, stored.map(|stored| stored["spec"].clone()));
    }
}

fn is_observed(world: &World, pool: &str) -> bool {
    let stored = world.cluster.lock().store.get(POOLS, pool);
    stored.is_some_and(|stored| world.has_observed(pool, &stored["spec"]))
}

/// `spec.limits.nodes`, and how many nodes Karpenter counts against it.
fn use_of(world: &World, pool: &str) -> (Option<usize>, usize) {
    let stored = world.cluster.lock().store.get(POOLS, pool);
    let limit = stored.and_then(|pool| pool["spec"]["limits"]["nodes"].as_str()?.parse().ok());
    let claims = list(world, CLAIMS, pool);
    let counts = |claim: &&Arc<Value>| !is_going(claim) && !world.is_replaced(metadata(claim, "name"));
    (limit, claims.iter().filter(counts).count())
}

/// Creates a claim, unless more nodes count than the limit says.
async fn create(world: &World, pool: &str) -> Option<String> {
    let (limit, used) = use_of(world, pool);
    if limit.is_some_and(|limit| used > limit) {
        world
            .cluster
            .note(&format!("{pool}: limit {limit:?}, usage {used}"));
        return None;
    }
    world.create(pool, false).await
}

fn add_pod(world: &World, pool: &str) {
    let name = world.name("pod");
    let at = world.cluster.text_time();
    let pod = json!({
        "metadata": {
            "name": name, "namespace": "shop", "labels": {"karpenter.sh/nodepool": pool, "app": pool},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": pool, "controller": true}],
        },
        "spec": {
            "nodeSelector": {"karpenter.sh/nodepool": pool},
            "containers": [{"name": "app", "resources": {"requests": {"cpu": "1"}}}],
        },
        "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]},
    });
    world
        .cluster
        .change(|store| store.create(PODS, pod, &at))
        .expect("a new pod");
}

/// The pods without a node.
fn waiting(world: &World, pool: &str) -> Vec<String> {
    let pods = list(world, PODS, pool);
    let waiting = pods.iter().filter(|pod| pod["spec"]["nodeName"].is_null());
    waiting.map(|pod| metadata(pod, "name").to_owned()).collect()
}

/// Creates a claim for each pod that no claim comes for.
fn provision(world: &Rc<World>, pool: &str) {
    let (limit, used) = use_of(world, pool);
    if limit.is_some_and(|limit| used >= limit) || !is_observed(world, pool) {
        // It skips the pool. With room for one node, it asks for one for each pod.
        return;
    }
    let claims = list(world, CLAIMS, pool);
    let coming = claims
        .iter()
        .filter(|claim| !is_going(claim) && !is_true(claim, "Initialized"))
        .count();
    let wanted = waiting(world, pool)
        .len()
        .saturating_sub(coming + world.creating(pool, 0));
    for _ in 0..wanted {
        let (world, pool) = (Rc::clone(world), pool.to_owned());
        world.creating(&pool, 1);
        spawn_local(async move {
            let made = create(&world, &pool).await;
            world.creating(&pool, -1);
            if let Some(claim) = made {
                live(&world, &pool, &claim).await;
            }
        });
    }
}

/// Launches the machine of a claim, and lets a pod run on it.
async fn live(world: &Rc<World>, pool: &str, claim: &str) {
    sleep(world.between(500, 4_000)).await;
    patch(
        world,
        CLAIMS,
        claim,
        &json!({"status": {"providerID": format!("machine-{claim}"), "nodeName": claim}}),
    );
    let is_slow = world.chance(0.2);
    let boot = if is_slow {
        world.between(60_000, 150_000)
    } else {
        world.between(500, 8_000)
    };
    sleep(boot).await;
    let stored = world.cluster.lock().store.get(CLAIMS, claim);
    if stored.is_none_or(|stored| is_going(&stored)) {
        return;
    }
    let at = world.cluster.text_time();
    let node = json!({
        "metadata": {"name": claim, "labels": {"karpenter.sh/nodepool": pool}, "annotations": {}},
        "spec": {"providerID": format!("machine-{claim}")},
        "status": {
            "allocatable": {"cpu": "2", "pods": "10"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": at}],
        },
    });
    let _ = world.cluster.change(|store| store.create(NODES, node, &at));
    set(world, claim, &["Launched", "Registered", "Initialized"], None);
    bind(world, pool, claim);
}

/// The scheduler: a waiting pod runs on a node that has none.
fn bind(world: &World, pool: &str, node: &str) {
    let pods = list(world, PODS, pool);
    let is_free = !pods.iter().any(|pod| pod["spec"]["nodeName"] == node);
    if is_free && let Some(pod) = waiting(world, pool).first() {
        let running = json!({"spec": {"nodeName": node}, "status": {"phase": "Running", "conditions": []}});
        patch(world, PODS, pod, &running);
    }
}

/// Evicts the pods of what is deleted, and removes it.
fn drain(world: &Rc<World>) {
    for pool in &world.pools {
        for claim in list(world, CLAIMS, pool) {
            let name = metadata(&claim, "name").to_owned();
            if is_going(&claim) && world.begins_drain(&name) {
                let (world, pool) = (Rc::clone(world), pool.clone());
                spawn_local(async move {
                    sleep(world.between(500, 15_000)).await;
                    evict(&world, &pool, &name);
                    sleep(world.between(500, 10_000)).await;
                    evict(&world, &pool, &name);
                    world.cluster.change(|store| {
                        store.remove(NODES, &name);
                        store.remove(CLAIMS, &name);
                    });
                });
            }
        }
        for node in list(world, NODES, pool) {
            if !is_going(&node) && is_ready(&node) && node["spec"]["taints"].is_null() {
                bind(world, pool, metadata(&node, "name"));
            }
        }
    }
}

/// The pods of a node wait for another one.
fn evict(world: &World, pool: &str, node: &str) {
    let unschedulable = json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]);
    let waits =
        json!({"spec": {"nodeName": null}, "status": {"phase": "Pending", "conditions": unschedulable}});
    for pod in list(world, PODS, pool) {
        if pod["spec"]["nodeName"] == *node {
            patch(world, PODS, metadata(&pod, "name"), &waits);
        }
    }
}

fn is_ready(node: &Value) -> bool {
    is_true(node, "Ready")
}

/// One round of disruption: the first candidate gets a replacement, and goes when that is there. False if none was made.
async fn disrupt(world: &Rc<World>) -> bool {
    for pool in &world.pools {
        for claim in list(world, CLAIMS, pool) {
            if is_true(&claim, "DisruptionReason") && !is_going(&claim) {
                let name = metadata(&claim, "name");
                set(world, name, conditions(&claim), None);
                taint(world, name, false);
            }
        }
    }
    for (reason, veto) in [("Unhealthy", DO_NOT_REPAIR), ("Drifted", DO_NOT_DISRUPT)] {
        for pool in &world.pools {
            for node in list(world, NODES, pool) {
                let name = metadata(&node, "name");
                let Some(claim) = world.cluster.lock().store.get(CLAIMS, name) else {
                    continue;
                };
                let is_candidate = match reason {
                    "Unhealthy" => !is_ready(&node),
                    _ => is_true(&claim, "Drifted") && is_ready(&node),
                };
                let is_vetoed = node["metadata"]["annotations"][veto] == "true";
                if is_candidate && !is_vetoed && !is_going(&claim) && is_true(&claim, "Initialized") {
                    if !world.pools.iter().any(|pool| is_observed(world, pool)) {
                        world.cluster.note("Karpenter finds no nodepools");
                        return false;
                    }
                    // It reckons without the candidate. Where no place is left, it tries the next one.
                    let (limit, used) = use_of(world, pool);
                    if limit.is_some_and(|limit| used > limit) || !is_observed(world, pool) {
                        continue;
                    }
                    return replace(world, pool, &claim, reason).await;
                }
            }
        }
    }
    true
}

/// The conditions of a claim that has a node.
fn conditions(claim: &Value) -> &'static [&'static str] {
    let all = &["Launched", "Registered", "Initialized", "Drifted"];
    if is_true(claim, "Drifted") { all } else { &all[..3] }
}

async fn replace(world: &Rc<World>, pool: &str, claim: &Value, reason: &str) -> bool {
    let (name, conditions) = (metadata(claim, "name"), conditions(claim));
    world
        .cluster
        .note(&format!("Karpenter disrupts {name}: {reason}"));
    taint(world, name, true);
    sleep(world.between(1, 300)).await;
    set(world, name, conditions, Some(reason));
    sleep(world.between(1, 300)).await;
    // If it is denied, taint and condition stay until the next round.
    let Some(other) = create(world, pool).await else {
        return false;
    };
    world.replaces(name, true);
    let (living, its, of) = (Rc::clone(world), other.clone(), pool.to_owned());
    spawn_local(async move { live(&living, &of, &its).await });
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_mins(4) {
        sleep(Duration::from_secs(1)).await;
        let stored = world.cluster.lock().store.get(CLAIMS, &other);
        if stored.is_some_and(|stored| is_true(&stored, "Initialized")) {
            let at = world.cluster.text_time();
            cluster::delete(&world.cluster, CLAIMS, name, &at);
            return true;
        }
    }
    world.replaces(name, false);
    set(world, name, conditions, None);
    taint(world, name, false);
    true
}

/// Something happens to a node: it drifts, it breaks, or a user marks it.
fn touch(world: &World) {
    let pool = &world.pools[world.below(world.pools.len())];
    let nodes = list(world, NODES, pool);
    let Some(node) = nodes.get(world.below(nodes.len())) else {
        return;
    };
    let name = metadata(node, "name");
    match world.below(3) {
        0 => set(
            world,
            name,
            &["Launched", "Registered", "Initialized", "Drifted"],
            None,
        ),
        1 => {
            let at = world.cluster.text_time();
            let broken = json!([{"type": "Ready", "status": "False", "reason": "KubeletNotReady", "lastTransitionTime": at}]);
            patch(world, NODES, name, &json!({"status": {"conditions": broken}}));
        }
        _ if is_ready(node) => {
            let marks =
                json!({"metadata": {"annotations": {DO_NOT_DISRUPT: "true", "example.com/users": "true"}}});
            world
                .cluster
                .change(|store| store.claim_fields(NODES, name, "kubectl", &marks));
            patch(world, NODES, name, &marks);
        }
        _ => {}
    }
}
